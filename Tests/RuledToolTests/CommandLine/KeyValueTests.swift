import RuledCore
import RuledTool
import Testing

/// Words of the form key=value.
struct KeyValueTests {
  @Test(
    arguments: [
      ("n=3", .integer(3)), ("n=3.0", .number(3)), ("n=true", .bool(true)), ("n=null", .null), ("n=Ada", "Ada"),
      ("n=", ""), ("n=01234", "01234"), ("n=\"01\"", "01"), ("n=a=b", "a=b"), ("n=[1,2]", [1, 2]),
      ("n={\"a\":{}}", ["a": [:]]), ("n=nan", "nan"), ("n={", "{"),
    ] as [(String, JSONValue)])
  func `A value is JSON if it parses and a string otherwise`(word: String, value: JSONValue) {
    #expect(KeyValue(word)?.value == value)
    #expect(KeyValue(word)?.key == "n")
  }

  @Test func `A word without a key is none`() {
    #expect(KeyValue("abc") == nil)
    #expect(KeyValue("=abc") == nil)
  }

  @Test func `A key is given once`() {
    #expect(throws: ToolError("'a' is given twice; give it once")) { try KeyValue.object(["a=1", "a=2"]) }
    #expect(throws: ToolError("'b' is not of the form key=value")) { try KeyValue.object(["a=1", "b"]) }
  }
}
