package import RuledCore

/// A second reader of JSON, written by hand and slow: tests compare the result of the daemon's parser with that of this one.
package struct ReferenceJSON {
  /// A text that is not JSON.
  package struct Refusal: Error {
    fileprivate init(_ message: String, at offset: Int) {}
  }

  /// The value that a text in strict RFC 8259 holds; of a repeated name the last counts.
  package static func value(
    of bytes: ByteView, maximumDepth: Int = Limits.jsonDepth
  ) throws(Refusal) -> JSONValue {
    var parser = ReferenceJSON(bytes: bytes, maximumDepth: maximumDepth)
    return try parser.parseDocument()
  }

  private let bytes: ByteView
  /// How deep arrays and objects may nest.
  private let maximumDepth: Int
  /// The next byte to read.
  private var offset = 0

  /// A parser at the start of a document.
  private init(bytes: ByteView, maximumDepth: Int) {
    self.bytes = bytes
    self.maximumDepth = maximumDepth
  }

  /// The next byte, or nil at the end.
  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  /// Reads the document to its end.
  private mutating func parseDocument() throws(Refusal) -> JSONValue {
    skipWhiteSpace()
    let value = try parseValue(depth: 0)
    skipWhiteSpace()
    guard next == nil else { throw unexpected("the end") }
    return value
  }

  private mutating func parseValue(depth: Int) throws(Refusal) -> JSONValue {
    guard let byte = next else { throw unexpected("a value") }
    switch byte {
    case UInt8(ascii: "{"): return .object(try parseObject(depth: depth + 1))
    case UInt8(ascii: "["): return .array(try parseArray(depth: depth + 1))
    case UInt8(ascii: "\""): return .string(try parseString())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try parseNumber()
    case UInt8(ascii: "t"): return try parse(word: "true", .bool(true))
    case UInt8(ascii: "f"): return try parse(word: "false", .bool(false))
    case UInt8(ascii: "n"): return try parse(word: "null", .null)
    default: throw unexpected("a value")
    }
  }

  private mutating func parseArray(depth: Int) throws(Refusal) -> [JSONValue] {
    try enter(depth: depth)
    var elements: [JSONValue] = []
    if skip(UInt8(ascii: "]")) { return elements }
    while true {
      elements.append(try parseValue(depth: depth))
      skipWhiteSpace()
      if skip(UInt8(ascii: "]")) { return elements }
      guard skip(UInt8(ascii: ",")) else { throw unexpected("',' or ']'") }
      skipWhiteSpace()
    }
  }

  private mutating func parseObject(depth: Int) throws(Refusal) -> JSONObject {
    try enter(depth: depth)
    var object = JSONObject()
    if skip(UInt8(ascii: "}")) { return object }
    while true {
      guard next == UInt8(ascii: "\"") else { throw unexpected("a name in quotes") }
      let name = try parseString()
      skipWhiteSpace()
      guard skip(UInt8(ascii: ":")) else { throw unexpected("':'") }
      skipWhiteSpace()
      object[name] = try parseValue(depth: depth)
      skipWhiteSpace()
      if skip(UInt8(ascii: "}")) { return object }
      guard skip(UInt8(ascii: ",")) else { throw unexpected("',' or '}'") }
      skipWhiteSpace()
    }
  }

  private mutating func enter(depth: Int) throws(Refusal) {
    guard depth <= maximumDepth else { throw Refusal("nested deeper than \(maximumDepth)", at: offset) }
    offset += 1
    skipWhiteSpace()
  }

  private mutating func parse(word: StaticString, _ value: JSONValue) throws(Refusal) -> JSONValue {
    let start = offset
    for position in 0..<word.utf8CodeUnitCount {
      guard skip(word.utf8Start[position]) else { throw Refusal("expected a value", at: start) }
    }
    return value
  }

  /// Skips `byte` if it is next, and says whether it was.
  private mutating func skip(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    offset += 1
    return true
  }

  private mutating func skipWhiteSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
  }

  /// An error that says what should stand here.
  private func unexpected(_ wanted: String) -> Refusal {
    Refusal(next == nil ? "the text ends, expected \(wanted)" : "expected \(wanted)", at: offset)
  }
}

extension ReferenceJSON {
  /// Reads the number that begins here.
  fileprivate mutating func parseNumber() throws(Refusal) -> JSONValue {
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
    guard let number = Double(text), number.isFinite else { throw Refusal("number out of range", at: start) }
    return .number(number)
  }

  private mutating func skipDigits() throws(Refusal) {
    let start = offset
    while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
    guard offset > start else { throw unexpected("a digit") }
  }

  /// Reads the string that begins here with its quote.
  fileprivate mutating func parseString() throws(Refusal) -> String {
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
        guard let text else { throw Refusal("malformed UTF-8 in the string", at: start) }
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
      case 0..<0x20: throw Refusal("control character in a string", at: offset)
      default: offset += 1
      }
    }
    throw unexpected("'\"'")
  }

  private mutating func parseEscape(into text: inout [UInt8]) throws(Refusal) {
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
    default: throw Refusal("unknown escape", at: offset - 2)
    }
  }

  private mutating func parseScalar() throws(Refusal) -> Unicode.Scalar {
    let start = offset - 2
    let first = try parseHex()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) else {
      throw Refusal("lone surrogate", at: start)
    }
    let second = try parseHex()
    guard second & 0xFC00 == 0xDC00,
      let scalar = Unicode.Scalar(0x10000 + ((first & 0x3FF) << 10 | (second & 0x3FF)))
    else { throw Refusal("lone surrogate", at: start) }
    return scalar
  }

  private mutating func parseHex() throws(Refusal) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = HexDigit.value(byte) else { throw unexpected("four hexadecimal digits") }
      value = value << 4 | UInt32(digit)
      offset += 1
    }
    return value
  }
}
