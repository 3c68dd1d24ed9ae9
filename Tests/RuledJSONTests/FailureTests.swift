import RuledCore
import RuledJSON
import Testing

@Suite struct FailureTests {
  private let failure = Failure(
    plugin: "greeter", rule: "greet", kind: .instructions, message: "stopped \"here\"", file: "greeter/plugin.lua",
    line: 7)

  @Test func `A failure is written with all its members`() throws {
    let buffer = ByteBuffer()
    failure.json.write(to: buffer)
    #expect(
      buffer.text
        == #"{"plugin":"greeter","rule":"greet","kind":"instructions","message":"stopped \"here\"","file":"greeter/plugin.lua","line":7}"#
    )
    #expect(failure.json.text == buffer.text)
  }

  @Test(arguments: Failure.Kind.allCases)
  func `A failure survives JSON`(kind: Failure.Kind) throws {
    var failure = failure
    failure.kind = kind
    #expect(Failure(json: try JSONValue(parsing: failure.json.text)) == failure)
    let bare = Failure(plugin: "p", kind: kind, message: "m")
    #expect(Failure(json: bare.json) == bare)
    #expect(Failure(json: ["plugin": "p", "kind": "other", "message": "m"]) == nil)
  }

  @Test func `A failed query answers rule_failed with the failure in its data`() {
    let buffer = ByteBuffer()
    failure.requestError.write(to: buffer)
    #expect(
      buffer.text.hasPrefix(
        #"{"code":-32000,"message":"stopped \"here\"","data":{"code":"rule_failed","plugin":"greeter","#))
  }
}
