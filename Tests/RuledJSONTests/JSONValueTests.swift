import RuledCore
import RuledJSON
import TestSupport
import Testing

@Suite struct JSONValueTests {
  @Test(
    arguments: [
      ("null", JSONValue.null), (" [1, 2.0 ,\"a\"]\n", [1, 2.0, "a"]), ("{\"a\":{\"b\":[]},\"a\":3}", ["a": 3]),
      ("-0", 0), ("1e2", 100.0), ("9223372036854775807", 9_223_372_036_854_775_807), ("9223372036854775808", 0x1p63),
      ("\"\\u00e9\\ud83d\\ude00\\n\\/\"", "é😀\n/"), ("\"\u{1F600}\"", "😀"), ("{}", [:]), ("true", true),
    ] as [(String, JSONValue)])
  func `A document is read`(text: String, expected: JSONValue) throws {
    #expect(try JSONValue(parsing: text) == expected)
  }

  @Test(arguments: [
    ("", 0), ("nul", 0), ("01", 0), ("1.", 0), ("1e", 0), ("-", 0), ("[1,]", 3), ("{\"a\":1,}", 7), ("{a:1}", 1),
    ("[1 2]", 3), ("1 1", 0), ("\"\t\"", 1), ("\"\\x\"", 0), ("\"\\ud800\"", 0), ("\"\\udc00\\ud800\"", 0), ("\"a", 0),
    ("1e999", 0), ("+1", 0), ("NaN", 0), ("'a'", 0), ("[", 0), ("\u{FEFF}1", 0), ("\"\\u12g4\"", 0),
    ("{\"a\":1}\n{}", 8), ("[1,\n2,\n\"x\\y\"]", 7), ("{\"a\":\n[nul]}", 7), ("{\"a\":[1,2}", 9), ("[1,\n\"a]", 4),
  ])
  func `Text that is not JSON is an error with the place of the byte or token`(text: String, offset: Int) {
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    #expect(error?.offset == offset, "\(text): \(error?.description ?? "")")
  }

  @Test(
    arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]])
  func `Malformed UTF-8 is an error`(content: [UInt8]) {
    let bytes = [UInt8(ascii: "\"")] + content + [UInt8(ascii: "\"")]
    #expect(throws: JSONError.self) { try bytes.withView { try JSONValue(parsing: $0) } }
  }

  @Test func `Nesting is allowed to the limit and no further`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    let most = Limits.storedDepth
    _ = try JSONValue(parsing: nested(most))
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: nested(most + 1)) }
    #expect(error?.reason == .depth)
    #expect(error?.offset == most)
    for limit in [1, 2, 63, 128, 1_000] {
      _ = try JSONValue(parsing: nested(limit), maximumDepth: limit)
      #expect(throws: JSONError.self) { try JSONValue(parsing: nested(limit + 1), maximumDepth: limit) }
    }
  }

  @Test func `Floats keep a point or an exponent and integers do not`() {
    let value: JSONValue = [1.0, 1, 0.1, 1e300, -0.0, 1e16, .number(.leastNonzeroMagnitude), .number(.infinity)]
    #expect(value.text == "[1.0,1,0.1,1e+300,-0.0,1e+16,5e-324,null]")
    #expect(JSONValue.integer(1) != JSONValue.number(1))
  }

  @Test func `Pretty text has a member a line`() {
    let value: JSONValue = ["a": [1, [:]], "b": [], "c": nil]
    #expect(value.prettyText() == "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": [],\n  \"c\": null\n}")
    #expect(value.text == #"{"a":[1,{}],"b":[],"c":null}"#)
  }

  @Test func `Objects are equal in any order, keep theirs, and tell canonically equivalent names apart`() {
    let left: JSONObject = ["a": 1, "b": 2]
    let right: JSONObject = ["b": 2, "a": 1]
    #expect(left == right)
    #expect(right.names == ["b", "a"])
    let accents: JSONObject = ["e\u{301}": 1, "\u{E9}": 2]
    #expect(accents.count == 2)
    #expect(accents["\u{E9}"] == 2)
    #expect(JSONValue.string("e\u{301}") != JSONValue.string("\u{E9}"))
  }

  @Test func `Long objects find, replace and remove their members`() {
    var object = JSONObject()
    for number in 0..<100 { object["k\(number)"] = .integer(Int64(number)) }
    object["k7"] = "seven"
    object["k50"] = nil
    object["none"] = nil
    #expect(object.count == 99)
    #expect(object["k7"] == "seven")
    #expect(object["k50"] == nil)
    #expect(object["k99"] == 99)
    #expect(object.names[50] == "k51")
  }

  @Test func `Members and elements are reached by name and place`() throws {
    let value = try JSONValue(parsing: #"{"a":[{"b":true}],"n":2,"f":2.5,"s":"x","z":null}"#)
    #expect(value["a"]?[0]?["b"]?.boolValue == true)
    #expect(value["a"]?[1] == nil)
    #expect(value["n"]?.intValue == 2)
    #expect(value["n"]?.doubleValue == 2)
    #expect(value["f"]?.intValue == nil)
    #expect(value["f"]?.doubleValue == 2.5)
    #expect(value["s"]?.stringValue == "x")
    #expect(value["z"]?.isNull == true)
    #expect(value.arrayValue == nil)
  }

  @Test func `Random values survive writing and reading, compact and pretty`() throws {
    var random = SeededRandom(seed: 1)
    for _ in 0..<2_000 {
      let value = JSONValue.random(using: &random, depth: 4)
      #expect(try JSONValue(parsing: value.text) == value)
      #expect(try JSONValue(parsing: value.prettyText()) == value)
    }
  }

  @Test func `Damaged documents never trap`() {
    var random = SeededRandom(seed: 2)
    for _ in 0..<5_000 {
      var bytes = Array(JSONValue.random(using: &random, depth: 3).text.utf8)
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      bytes.removeLast(Int.random(in: 0...min(1, bytes.count - 1), using: &random))
      let parsed = bytes.withView { bytes in try? JSONValue(parsing: bytes) }
      if let parsed { #expect(parsed == (try? JSONValue(parsing: parsed.text))) }
    }
  }
}

extension JSONValue {
  fileprivate static func random(using random: inout SeededRandom, depth: Int) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .integer(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random))
    case 3:
      let value = Double(bitPattern: random.next())
      return .number(value.isFinite ? value : 0.5)
    case 4, 5: return .string(randomText(using: &random))
    case 6:
      return .array((0..<Int.random(in: 0..<4, using: &random)).map { _ in .random(using: &random, depth: depth - 1) })
    default:
      var object = JSONObject()
      for _ in 0..<Int.random(in: 0..<24, using: &random) {
        object[randomText(using: &random)] = .random(using: &random, depth: depth - 2)
      }
      return .object(object)
    }
  }

  private static func randomText(using random: inout SeededRandom) -> String {
    var text = ""
    for _ in 0..<Int.random(in: 0..<6, using: &random) {
      let bound: UInt32 = [0x20, 0x80, 0x800, 0x11_0000][Int.random(in: 0..<4, using: &random)]
      if let scalar = Unicode.Scalar(UInt32.random(in: 0..<bound, using: &random)) {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}
