extension JSONParser {
  /// Reads the number that begins here.
  mutating func parseNumber() throws(JSONError) -> JSONValue {
    let start = offset
    _ = skip(UInt8(ascii: "-"))
    if !skip(UInt8(ascii: "0")) { try skipDigits() }
    var isInteger = true
    if skip(UInt8(ascii: ".")) {
      isInteger = false
      try skipDigits()
    }
    if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
      isInteger = false
      if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
      try skipDigits()
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if isInteger, let integer = Int64(text) { return .integer(integer) }
    guard let number = Double(text), number.isFinite else { throw JSONError("number out of range", at: start) }
    return .number(number)
  }

  private mutating func skipDigits() throws(JSONError) {
    let start = offset
    while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
    guard offset > start else { throw unexpected("a digit") }
  }

  /// Reads the string that begins here with its quote.
  mutating func parseString() throws(JSONError) -> String {
    offset += 1
    let start = offset
    var unescaped: [UInt8]?
    var copied = start
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        let rest = bytes[copied..<offset]
        let text =
          if let unescaped { String(validating: unescaped + rest, as: UTF8.self) } else {
            String(validating: rest, as: UTF8.self)
          }
        guard let text else { throw JSONError("malformed UTF-8 in the string", at: start) }
        offset += 1
        return text
      case UInt8(ascii: "\\"):
        var part = unescaped ?? []
        unescaped = nil
        part += bytes[copied..<offset]
        offset += 1
        try parseEscape(into: &part)
        unescaped = part
        copied = offset
      case 0..<0x20: throw JSONError("control character in a string", at: offset)
      default: offset += 1
      }
    }
    throw unexpected("'\"'")
  }

  private mutating func parseEscape(into text: inout [UInt8]) throws(JSONError) {
    guard let byte = next else { throw unexpected("an escape") }
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"): text.append(contentsOf: UTF8.encode(try parseScalar()) ?? UTF8.encodedReplacementCharacter)
    default: throw JSONError("unknown escape", at: offset - 2)
    }
  }

  private mutating func parseScalar() throws(JSONError) -> Unicode.Scalar {
    let start = offset - 2
    let first = try parseHex()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) else {
      throw JSONError("lone surrogate", at: start)
    }
    let second = try parseHex()
    guard second & 0xFC00 == 0xDC00,
      let scalar = Unicode.Scalar(0x10000 + ((first & 0x3FF) << 10 | (second & 0x3FF)))
    else { throw JSONError("lone surrogate", at: start) }
    return scalar
  }

  private mutating func parseHex() throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = HexDigit.value(byte) else { throw unexpected("four hexadecimal digits") }
      value = value << 4 | UInt32(digit)
      offset += 1
    }
    return value
  }
}
