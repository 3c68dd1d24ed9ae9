/// Reads one JSON document in strict RFC 8259.
struct JSONParser {
  /// The document.
  let bytes: UnsafeRawBufferPointer
  /// How deep arrays and objects may nest.
  let maximumDepth: Int
  /// The next byte to read.
  var offset = 0

  /// A parser at the start of a document.
  init(bytes: UnsafeRawBufferPointer, maximumDepth: Int) {
    self.bytes = bytes
    self.maximumDepth = maximumDepth
  }

  /// The next byte, or nil at the end.
  var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  /// Reads the document to its end.
  mutating func parseDocument() throws(JSONError) -> JSONValue {
    skipWhiteSpace()
    let value = try parseValue(depth: 0)
    skipWhiteSpace()
    guard next == nil else { throw unexpected("the end") }
    return value
  }

  private mutating func parseValue(depth: Int) throws(JSONError) -> JSONValue {
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

  private mutating func parseArray(depth: Int) throws(JSONError) -> [JSONValue] {
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

  private mutating func parseObject(depth: Int) throws(JSONError) -> JSONObject {
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

  private mutating func enter(depth: Int) throws(JSONError) {
    guard depth <= maximumDepth else { throw JSONError("nested deeper than \(maximumDepth)", at: offset) }
    offset += 1
    skipWhiteSpace()
  }

  private mutating func parse(word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
    let start = offset
    for position in 0..<word.utf8CodeUnitCount {
      guard skip(word.utf8Start[position]) else { throw JSONError("expected a value", at: start) }
    }
    return value
  }

  /// Skips `byte` if it is next, and says whether it was.
  mutating func skip(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    offset += 1
    return true
  }

  private mutating func skipWhiteSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
  }

  /// An error that says what should stand here.
  func unexpected(_ wanted: String) -> JSONError {
    JSONError(next == nil ? "the text ends, expected \(wanted)" : "expected \(wanted)", at: offset)
  }
}
