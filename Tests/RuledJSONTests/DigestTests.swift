import RuledCore
import RuledJSON
import TestSupport
import Testing

/// The digest of a value: the same for the same meaning, another one for another meaning.
@Suite struct DigestTests {
  private func digest(_ text: String) throws -> UInt64 {
    let document = TapeDocument()
    return try withExtendedLifetime(document) {
      try Array(text.utf8).withView { try document.parse(copyOf: $0).digest }
    }
  }

  @Test(
    arguments: [
      (#"{"a":1,"b":[true,null]}"#, #" { "b" : [ true , null ] , "a" : 1.0 } "#), ("1", "10e-1"), ("-0.0", "0"),
      (#""é\/\n""#, #""\u00e9/\u000a""#), (#"{"a":null,"b":2}"#, #"{"b":2}"#), ("1e3", "1000"),
      ("9223372036854775808", "9.223372036854775808e18"), ("0.1", "1e-1"),
    ])
  func `values that mean the same have the same digest`(left: String, right: String) throws {
    #expect(try digest(left) == digest(right))
  }

  @Test func `values that mean something else have another digest`() throws {
    let texts = [
      "{}", "[]", "null", "0", "1", "-1", "0.5", "true", "false", #""""#, #""1""#, "[1]", "[1,2]", "[2,1]", "[[1],2]",
      #"{"a":1}"#, #"{"a":2}"#, #"{"b":1}"#, #"{"a":{"b":1}}"#, #"{"a":1,"b":2}"#, #"{"a":2,"b":1}"#, "[null]", "[{}]",
      "18446744073709551615", "1.8446744073709552e19", "9223372036854775807", #"{"a":[]}"#, #"{"a":{}}"#,
    ]
    #expect(Set(try texts.map(digest)).count == texts.count)
  }

  @Test func `digests stay what they are, as the store holds them`() throws {
    let text = #"{"id":7,"name":"Zoë","tags":["a","b",1.5,null,true],"big":18446744073709551615}"#
    #expect(try digest(text) == 0x58d1_0902_2051_bfbc)
  }

  @Test(arguments: UInt64(1)...100)
  func `members in another order make no difference, and each change makes one`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let value = Self.value(depth: 4, &random)
    #expect(try digest(value.text) == digest(Self.shuffled(value, &random).text))
    #expect(try digest(value.text) != digest(JSONValue.array([value]).text))
    #expect(try digest(JSONValue.object(["a": value]).text) != digest(JSONValue.object(["b": value]).text))
  }

  private static func value(depth: Int, _ random: inout SeededRandom) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &random) {
    case 0: return .integer(.random(in: -1000...1000, using: &random))
    case 1: return .number(.random(in: -1e6...1e6, using: &random))
    case 2: return .string(String(Int.random(in: 0...99999, using: &random), radix: 36))
    case 3: return .bool(.random(using: &random))
    case 4: return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth: depth - 1, &random) })
    default:
      var object = JSONObject()
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        object["k\(Int.random(in: 0...99, using: &random))"] = value(depth: depth - 1, &random)
      }
      return .object(object)
    }
  }

  private static func shuffled(_ value: JSONValue, _ random: inout SeededRandom) -> JSONValue {
    switch value {
    case .array(let elements): return .array(elements.map { shuffled($0, &random) })
    case .object(let object):
      var other = JSONObject()
      for member in object.members.shuffled(using: &random) { other[member.name] = shuffled(member.value, &random) }
      return .object(other)
    default: return value
    }
  }
}
