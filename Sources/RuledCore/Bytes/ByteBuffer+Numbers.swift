extension ByteBuffer {
  /// Appends `value` in decimal.
  package func append(decimal value: Int64) {
    reserve(20)
    var magnitude = value.magnitude
    if value < 0 {
      base[count] = UInt8(ascii: "-")
      count += 1
    }
    let digits = Self.digits(magnitude)
    count += digits
    var end = base + count
    while magnitude >= 10 {
      let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: 10)
      end -= 1
      end.pointee = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: remainder)
      magnitude = quotient
    }
    (end - 1).pointee = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: magnitude)
  }

  /// How many decimal digits a number has.
  private static func digits(_ value: UInt64) -> Int {
    var digits = 1
    var bound: UInt64 = 10
    while digits < 19, value >= bound {
      digits += 1
      bound &*= 10
    }
    return digits == 19 && value >= bound ? 20 : digits
  }

  /// Appends the lower-case hexadecimal digit of `nibble` (0 to 15).
  package func append(hexDigit nibble: UInt8) {
    append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
  }
}
