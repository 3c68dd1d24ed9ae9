print("rulectl")
