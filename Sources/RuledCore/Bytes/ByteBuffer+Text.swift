extension ByteBuffer {
  // MARK: Numbers

  /// Appends `value` in decimal.
  public func append(decimal value: Int64) {
    reserve(20)
    var magnitude = value.magnitude
    if value < 0 {
      storage[used] = UInt8(ascii: "-")
      used += 1
    }
    used += Self.digits(magnitude)
    var end = storage + used
    while magnitude >= 10 {
      let (quotient, remainder) = magnitude.quotientAndRemainder(dividingBy: 10)
      end -= 1
      end.pointee = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: remainder)
      magnitude = quotient
    }
    (end - 1).pointee = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: magnitude)
  }

  /// Appends the last `digits` decimal digits of `value`, zeros included, and an ASCII character.
  func append(_ value: Int, digits: Int, then character: Unicode.Scalar) {
    reserve(digits + 1)
    let end = storage + used
    var rest = value
    for position in (0..<digits).reversed() {
      end[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    end[digits] = UInt8(ascii: character)
    used += digits + 1
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
  public func append(hexDigit nibble: UInt8) {
    append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
  }

  // MARK: JSON's scalars

  /// Appends `text` as a JSON string with its quotes, escaping what RFC 8259 section 7 requires.
  public func append(jsonString text: ByteView) {
    let length = text.count
    reserve(length + 2)
    guard let start = text.baseAddress, length > 0 else { return append("\"\"" as StaticString) }
    guard EightBytes.all(text, where: \.isPlainInJSON, and: { !Self.isEscaped($0) }) else {
      return append(escaping: text)
    }
    let end = storage + used
    end.pointee = UInt8(ascii: "\"")
    UnsafeMutableRawPointer(end + 1).copyMemory(from: start, byteCount: length)
    end[length + 1] = UInt8(ascii: "\"")
    used += length + 2
  }

  /// Appends `text` as a JSON string with its quotes.
  public func append(jsonString text: String) {
    text.withView { append(jsonString: $0) }
  }

  /// Appends the shortest JSON number that reads back as `value`, always with a point or an exponent.
  ///
  /// JSON has no infinities and no NaN: they become `null`, as in JavaScript.
  public func append(jsonNumber value: Double) {
    guard value.isFinite else { return append("null" as StaticString) }
    append(contentsOf: value.description)
  }

  /// Appends `name` in quotes and a colon, after a comma where `afterComma` is true.
  ///
  /// - Precondition: `name` needs no escape.
  @inlinable
  @inline(__always)
  public func append(jsonName name: StaticString, afterComma: Bool) {
    let length = name.utf8CodeUnitCount
    reserve(length + 4)
    var end = storage + used
    if afterComma {
      end.pointee = UInt8(ascii: ",")
      end += 1
    }
    end.pointee = UInt8(ascii: "\"")
    UnsafeMutableRawPointer(end + 1).copyMemory(from: name.utf8Start, byteCount: length)
    end[length + 1] = UInt8(ascii: "\"")
    end[length + 2] = UInt8(ascii: ":")
    used += length + (afterComma ? 4 : 3)
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private func append(escaping text: ByteView) {
    append(UInt8(ascii: "\""))
    var start = 0
    for index in 0..<text.count where Self.isEscaped(text[index]) {
      append(text.extracting(start..<index))
      append(escaped: text[index])
      start = index + 1
    }
    append(text.extracting(start..<text.count))
    append(UInt8(ascii: "\""))
  }

  private func append(escaped byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    default:
      append("u00" as StaticString)
      append(hexDigit: byte >> 4)
      append(hexDigit: byte & 15)
    }
  }
}
