import RuledCore
import TestSupport
import Testing

@testable import RuledWire

@Suite("JSON-RPC 2.0")
struct JSONRPCTests {
  @Test
  func `The calls of the specification's examples are read as calls`() {
    #expect(
      Wire.reply(to: #"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#)
        == #"{"jsonrpc":"2.0","id":1,"result":["subtract",[42, 23]]}"#)
    #expect(
      Wire.reply(
        to: #"{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}"#)
        == #"{"jsonrpc":"2.0","id":3,"result":["subtract",{"subtrahend": 23, "minuend": 42}]}"#)
    #expect(Wire.reply(to: #"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#) == nil)
    #expect(Wire.reply(to: #"{"jsonrpc": "2.0", "method": "foobar"}"#) == nil)
    #expect(
      Wire.reply(to: #"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#)
        == #"{"jsonrpc":"2.0","id":"1","result":["foobar",{}]}"#)
  }

  @Test(arguments: [
    (#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, ["-32700 null"]),
    (#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#, ["-32600 null"]),
    (
      #"[ {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method" ]"#,
      ["-32700 null"]
    ),
    ("[]", ["-32600 null"]),
    ("[1]", ["-32600 null"]),
    ("[1,2,3]", ["-32600 null", "-32600 null", "-32600 null"]),
  ])
  func `The errors of the specification's examples are answered as it says`(line: String, errors: [String]) throws {
    #expect(try Wire.errors(line) == errors)
  }

  @Test
  func `The specification's mixed batch is answered in its order, without its notification`() throws {
    let batch = #"""
      [ {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
        {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
        {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
        {"foo": "boo"},
        {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
        {"jsonrpc": "2.0", "method": "get_data", "id": "9"} ]
      """#
    let reply = try #require(Wire.reply(to: batch))
    #expect(try Wire.errors(batch) == ["result", "result", "-32600 null", "result", "result"])
    #expect(reply.hasPrefix(#"[{"jsonrpc":"2.0","id":"1","result":["sum",[1,2,4]]},{"#))
    #expect(reply.hasSuffix(#"{"jsonrpc":"2.0","id":"9","result":["get_data",{}]}]"#))
  }

  @Test
  func `A batch of notifications gets no answer`() {
    let batch = #"[{"jsonrpc":"2.0","method":"a","params":[1]},{"jsonrpc":"2.0","method":"b","params":[7]}]"#
    #expect(Wire.reply(to: batch) == nil)
  }

  @Test(arguments: [
    "1.0", "1E+2", "-0", "0.10", #""\u0041""#, #""\/\"ü😀""#, "null", "\"\"", "18446744073709551615",
    "18446744073709551616", "123456789012345678901234567890", "-123456789012345678901234567890",
  ])
  func `An id is echoed byte for byte`(id: String) {
    #expect(
      Wire.reply(to: "{\"method\":\"x\" , \"id\" : \(id) ,\"jsonrpc\":\"2.0\"} \r")
        == "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":[\"x\",{}]}")
  }

  @Test(arguments: [
    (#"{"jsonrpc":"2.0","method":"x","id":{}}"#, "-32600 null"),
    (#"{"jsonrpc":"2.0","method":"x","id":[1]}"#, "-32600 null"),
    (#"{"jsonrpc":"2.0","method":"x","id":true}"#, "-32600 null"),
    (#"{"jsonrpc":"1.0","method":"x","id":4}"#, "-32600 4"),
    (#"{"jsonrpc":2.0,"method":"x","id":4}"#, "-32600 4"),
    (#"{"method":"x","id":4}"#, "-32600 4"),
    (#"{"jsonrpc":"2.0","id":4}"#, "-32600 4"),
    (#"{"jsonrpc":"2.0","method":null,"id":"é"}"#, "-32600 é"),
    (#"{"jsonrpc":"2.0","method":"x","params":7,"id":4}"#, "-32600 4"),
    (#"{"jsonrpc":"2.0","method":"x","params":null,"id":4}"#, "-32600 4"),
    (#"{"jsonrpc":"2.0","method":"x","params":"bar"}"#, "-32600 null"),
    ("7", "-32600 null"), ("null", "-32600 null"), ("\"x\"", "-32600 null"), ("{}", "-32600 null"),
    ("", "-32700 null"), ("{", "-32700 null"), ("nul", "-32700 null"), ("{} {}", "-32700 null"),
    ("[1,]", "-32700 null"), ("01", "-32700 null"), ("\"\u{1}\"", "-32700 null"), (#""\ud800""#, "-32700 null"),
  ])
  func `A value that is no request is answered with an error, and with its id where it has one`(
    line: String, error: String
  ) throws {
    #expect(try Wire.errors(line) == [error])
  }

  @Test
  func `Of a repeated member the last counts, and an escaped name is that name`() {
    #expect(
      Wire.reply(to: #"{"jsonrpc":"1","method":"a","id":1,"\u006ason\u0072pc":"2.0","method":"b","\u0069d":2}"#)
        == #"{"jsonrpc":"2.0","id":2,"result":["b",{}]}"#)
  }

  @Test
  func `Every method of the protocol is known by its name, and no other is`() throws {
    for method in Method.allCases where method != .unknown {
      #expect(try Wire.request("\(method.rawValue)", "{}") { $0.method } == method)
    }
    for name in ["rpc.event", "Event", "events", "", "evenu"] {
      #expect(try Wire.request(name, "{}") { $0.method } == .unknown)
    }
    let long = String(repeating: "ü", count: 5000)
    let error = try Wire.request(long, "{}") { $0.unknownMethod }
    #expect(error.code == .unknownMethod)
    #expect(error.message.utf8.count < 200)
  }

  @Test
  func `Invalid UTF-8 is a parse error wherever it stands`() throws {
    for bad in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]] {
      let line = Array(#"{"jsonrpc":"2.0","method":"x","id":""#.utf8) + bad + Array("\"}".utf8)
      let reply = try #require(Wire.reply(to: line))
      #expect(reply.contains("\"code\":-32700"))
      #expect(reply.contains("\"id\":null"))
    }
  }

  @Test
  func `A line may nest 64 deep and no deeper, whether the innermost container is empty or not`() throws {
    for inner in ["", "1", "\"[\"", "[]", "{}", "[1]"] {
      for (open, close) in [("[", "]"), ("{\"a\":", "}")] where open == "[" || !inner.isEmpty {
        let innerDepth = inner.hasPrefix("[") || inner == "{}" ? 1 : 0
        for total in 62...67 {
          // The request is a container itself.
          let levels = total - 1 - innerDepth
          let params = String(repeating: open, count: levels) + inner + String(repeating: close, count: levels)
          let line = "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\(params),\"id\":1}"
          #expect(try Wire.errors(line) == [total <= 64 ? "result" : "-32700 null"], "\(total) \(inner) \(open)")
        }
      }
    }
  }

  @Test
  func `Depth is counted the same by a parser that has seen a line that was too deep`() throws {
    let parser = RequestParser()
    let deep = Array(String(repeating: "[", count: 65).utf8) + Array(String(repeating: "]", count: 65).utf8)
    let plain = Array(#"{"jsonrpc":"2.0","method":"x","id":1}"#.utf8)
    for _ in 0..<3 {
      #expect(try #require(Wire.reply(to: deep, parser: parser)).contains("-32700"))
      #expect(Wire.reply(to: plain, parser: parser) == #"{"jsonrpc":"2.0","id":1,"result":["x",{}]}"#)
    }
  }

  @Test(arguments: JSONVerdict.all())
  func `A line is a parse error only when it is no JSON`(_ example: JSONVerdict) {
    example.bytes.withView { bytes in
      var code: RequestError.Code?
      if case .invalid(let error) = RequestParser().parseRequest(bytes) { code = error.code }
      #expect((code == .parseError) == !example.isJSON)
    }
  }

  @Test
  func `A byte order mark before a request is named`() throws {
    let line = "\u{FEFF}" + #"{"jsonrpc":"2.0","id":1,"method":"health"}"#
    #expect(try Wire.errors(line) == ["-32700 null"])
    #expect(Wire.reply(to: line)?.contains("byte order mark") == true)
  }
}
