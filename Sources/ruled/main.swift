print("ruled")
