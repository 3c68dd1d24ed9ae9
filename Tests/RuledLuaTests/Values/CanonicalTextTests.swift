import RuledCore
import TestSupport
import Testing

@testable import RuledLua

/// State that the daemon wrote itself is read by a parser of its own; a space before it makes it the general parser's.
@Suite struct CanonicalTextTests {
  private func bench() throws -> Bench {
    try Bench(
      Bench.rule("decide('type', math.type(state.v) or type(state.v)) decide('v', state.v) decide('all', state)"))
  }

  private func expectSame(_ values: [String], _ bench: Bench) throws {
    for value in values {
      let own = try bench.handle(state: #"{"v":\#(value)}"#)
      let general = try bench.handle(state: #" {"v":\#(value)}"#)
      #expect(own == general, "\(value)")
    }
  }

  @Test func `numbers are the same to the last bit`() throws {
    try expectSame(
      [
        "0", "-0", "-1", "7", "12345678901234567", "999999999999999999", "-999999999999999999", "1000000000000000000",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616", "01", "-", "+1",
        "0.0", "-0.0", "1.5", "1.0", "0.1", "123456.789012", "1.7e+300", "1e22", "1e23", "1e-22", "1e-23", "5e-324",
        "2.2250738585072014e-308", "1.7976931348623157e+308", "1e400", "1.", ".5", "1e", "1e+", "1E5", "1e0005",
        "0.000001", "1732173245.123456", "1732173245.1234561", "123456789012345.0", "1234567890123456.0",
        "0.3333333333333333", "100000000000000000000.5", "9007199254740993.0",
      ], bench())
  }

  @Test func `strings, containers and words are the same`() throws {
    let deep = { (levels: Int) in String(repeating: "[", count: levels) + String(repeating: "]", count: levels) }
    try expectSame(
      [
        #""""#, #""a""#, #""abcdefg""#, #""abcdefgh""#, #""abcdefghi""#, #""a\"b""#, #""12345678\n""#, #""\u00e9""#,
        #""é""#, #""äöüäöüäöü\u007f""#, "\"\u{7f}\"", "\"1234567\u{7f}90\"", #""日本語のテキスト""#, #""😀""#,
        "\"tab\there\"", "\"nul\u{0}\"", "[]", "{}", "[[],{}]", "[1,2.0,\"x\",true,false,null]", "[1,]", "[,1]",
        "[1 ,2]",
        #"{"a":1,"a":2}"#, #"{"":0}"#, #"{"a":{"b":{"c":[{"d":null}]}}}"#, #"{"a":1,}"#, #"{"a" :1}"#, #"{1:2}"#,
        "nul", "truee", "tru", deep(62), deep(63), deep(64),
        #"{"abcdefgh":1,"abcdefghi":2,"abcdefg":3,"abcdefghijklmnop":4}"#,
        #"{"abcdefghijklmnopq":1,"abcdefghijklmnopr":2,"abcdefgi":3}"#,
      ], bench())
  }

  @Test func `random values come back as they were`() throws {
    var random = RandomValues(seed: 11)
    let bench = try bench()
    for _ in 0..<400 { try expectSame([random.text(of: random.object(depth: 0))], bench) }
  }

  @Test func `numbers are written as they are read`() throws {
    let bench = try Bench(Bench.rule("decide('v', event.data.v)"))
    var random = SeededRandom(seed: 5)
    for _ in 0..<4000 {
      let value = Double(Int64.random(in: -2_000_000_000_000_000...2_000_000_000_000_000, using: &random)) / 1e6
      let text = try #require(try bench.handle(#"{"data":{"v":\#(value)}}"#).decisions["v"])
      #expect(Double(text) == value)
      #expect(text.count <= "\(value)".count + 1)
    }
  }
}
