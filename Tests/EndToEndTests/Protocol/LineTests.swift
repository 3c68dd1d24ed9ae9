import Glibc
import RuledCore
import RuledJSON
import Testing

extension EndToEnd {
  @Suite struct LineTests {
    static let rules = [
      "echo/plugin.lua": """
      plugin { name = "echo", version = "1" }
      rule "count" { on = "count", run = function(event, state)
        state.n = (state.n or 0) + 1
        decide("n", state.n)
      end }
      query "n" (function(state, args) return { n = state and state.n or 0 } end)
      query "bad" (function(state) error("no luck") end)
      """
    ]

    private let daemon: RuledDaemon
    private let client: Client

    init() throws {
      daemon = try RuledDaemon(rules: Self.rules)
      client = try daemon.client()
    }

    private func error(_ line: String) throws -> JSONValue {
      guard let reply = client.exchange(line) else { return .null }
      return try JSONValue(parsing: reply, maximumDepth: 128)["error"] ?? .string(reply)
    }

    @Test(
      "ids that can be read are echoed byte for byte",
      arguments: [
        "1", "\"a\"", "-7", "1.50", "1e3", "null", "\"\\u0041\\n\"", "12345678901234567890", "\"\"",
      ])
    func echoesIDs(_ id: String) {
      let reply = client.exchange(
        "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"query\",\"params\":{\"name\":\"echo.n\"}}")
      #expect(reply == "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":{\"n\":0}}")
      let failed = client.exchange("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"nothing\"}")
      #expect(
        failed?.hasPrefix("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"error\":{\"code\":-32601,") == true, "\(failed ?? "")")
    }

    @Test(
      "what is no JSON is a parse error, and the next line is answered",
      arguments: [
        "{", "{]", "[1,", "{\"a\":\"\u{1}\"}", "{\"id\":01}", " nonsense", "{} {}",
      ])
    func refusesBadJSON(_ line: String) throws {
      let error = try error(line)
      #expect(error["code"] == -32700)
      #expect(error["data"]?["code"] == "parse_error")
      #expect(try client.call("query", ["name": "echo.n"])["n"] == 0)
    }

    @Test("bytes that are no UTF-8 are a parse error")
    func refusesBadText() throws {
      client.send(
        Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"health\",\"params\":{\"x\":\"".utf8) + [0xFF, 0xC0]
          + Array("\"}}\n".utf8))
      #expect(try JSONValue(parsing: client.line() ?? "")["error"]?["code"] == -32700)
    }

    @Test(
      "what is JSON and no request is an invalid request",
      arguments: [
        "{}", "[]", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"health\"}", "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"health\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"health\",\"params\":3}",
      ])
    func refusesOtherJSON(_ line: String) throws {
      let error = try error(line)
      #expect(error["code"] == -32600)
      #expect(error["data"]?["code"] == "invalid_request")
    }

    @Test("batches are answered as one array without their notifications, and in their order")
    func answersBatches() throws {
      func event(_ id: String) -> String {
        "{\"jsonrpc\":\"2.0\",\(id)\"method\":\"event\",\"params\":{\"type\":\"count\",\"subject\":\"b\"}}"
      }
      let other =
        "{\"jsonrpc\":\"2.0\",\"id\":\"o\",\"method\":\"event\",\"params\":{\"type\":\"count\",\"subject\":\"c\"}}"
      let reply = client.exchange("[\(event("\"id\":1,")),\(event("")),\(other),3,\(event("\"id\":2,"))]") ?? ""
      let answers = try #require(try JSONValue(parsing: reply).arrayValue)
      #expect(answers.map { $0["id"] } == [1, "o", .null, 2])
      #expect(answers[0]["result"]?["decisions"]?["echo"]?["n"] == 1)
      #expect(answers[2]["error"]?["code"] == -32600)
      #expect(answers[3]["result"]?["decisions"]?["echo"]?["n"] == 3)
      client.send("[\(event("")),\(event(""))]\n\(event(""))\n")
      #expect(try client.event("count", "b")["decisions"]?["echo"]?["n"] == 7)
      #expect(client.exchange("[1]")?.hasPrefix("[{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600") == true)
    }

    @Test("a line over 1 MiB is too large, one of just that size is not, and the connection lives")
    func limitsLines() throws {
      let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"query\",\"params\":{\"name\":\"echo.n\"}}"
      let full = request + String(repeating: " ", count: (1 << 20) - request.utf8.count)
      client.send(full + "\n")
      #expect(client.line() == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":0}}")
      let (daemon, long) = (daemon, full + " " + String(repeating: "x", count: 3 << 20))
      _ = daemon
      let threads = Threads.start(1) { [client] _ in client.send(long + "\n" + request + "\n") }
      let refused = try JSONValue(parsing: client.line() ?? "")
      #expect(refused["error"]?["code"] == -32001)
      #expect(refused["error"]?["data"]?["code"] == "too_large")
      #expect(refused["id"] == .null)
      #expect(client.line() == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":0}}")
      Threads.join(threads)
    }

    @Test("a line may be 64 deep and not 65")
    func limitsDepth() throws {
      func line(_ depth: Int) -> String {
        let data = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        return
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"event\",\"params\":{\"type\":\"deep\",\"subject\":\"d\",\"data\":\(data)}}"
      }
      #expect(client.exchange(line(62))?.holds("\"result\"") == true)
      #expect(try error(line(63))["code"] == -32700)
    }

    @Test("requests may come in any pieces, with blank lines and carriage returns between")
    func takesPieces() throws {
      let request = "\n\r\n {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"query\",\"params\":{\"name\":\"echo.n\"}}\r\n"
      for byte in request.utf8 {
        client.send([byte])
        usleep(200)
      }
      #expect(client.line() == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":0}}")
    }

    @Test("after a half-close all replies still come, that of a last line without its newline too")
    func answersAfterHalfClose() throws {
      let requests = (1...2000).map { Load.event("\($0)", "count", "half:\($0 % 7)", "{}").line }.joined()
      client.send(String(requests.dropLast()))
      client.endWriting()
      let lines = client.rest()
      #expect(lines.count == 2000)
      #expect(lines.allSatisfy { $0.holds("\"result\"") })
    }

    @Test(
      "errors have their code and their data",
      arguments: [
        ("event", "{}", -32602, "params.type"), ("event", "{\"type\":\"a\"}", -32602, "params.subject"),
        ("event", "{\"type\":\"\",\"subject\":\"s\"}", -32602, "params.type"),
        ("event", "{\"type\":\"a\",\"subject\":7}", -32602, "params.subject"),
        ("event", "{\"type\":\"a\",\"subject\":\"s\",\"id\":\"\"}", -32602, "params.id"),
        ("event", "{\"type\":\"a\",\"subject\":\"s\",\"time\":\"yesterday\"}", -32602, "params.time"),
        ("event", "{\"type\":\"a\",\"subject\":\"s\",\"specversion\":\"0.3\"}", -32602, "params.specversion"),
        ("event", "{\"type\":\"a\",\"subject\":\"s\",\"dryrun\":1}", -32602, "params.dryrun"),
        ("event", "{\"type\":\"a\",\"subject\":\"s\",\"wait\":\"long\"}", -32602, "params.wait"),
        ("event", "{\"type\":\"a\",\"subject\":\"s\",\"Upper\":1}", -32602, "params.Upper"),
        ("event", "{\"type\":\"a\",\"subject\":\"s\",\"ext\":{}}", -32602, "params.ext"),
        ("query", "{}", -32602, "params.name"), ("state", "{}", -32602, "params.subject"),
        ("subjects", "{\"limit\":0}", -32602, "params.limit"), ("subjects", "{\"limit\":1001}", -32602, "params.limit"),
        ("query", "{\"name\":\"echo.none\"}", -32002, ""), ("query", "{\"name\":\"none.n\"}", -32002, ""),
        ("state", "{\"subject\":\"nobody\"}", -32002, ""), ("export", "{\"subject\":\"nobody\"}", -32002, ""),
        ("retry", "{\"parked\":\"1-x\"}", -32002, ""), ("drop", "{\"parked\":\"nonsense\"}", -32002, ""),
        ("clock", "{\"advance\":\"1d\"}", -32601, ""), ("none", "{}", -32601, ""),
      ])
    func namesErrors(_ method: String, _ params: String, _ code: Int64, _ path: String) throws {
      let error = try client.failure(method, JSONValue(parsing: params))
      let names: [Int64: JSONValue] = [-32602: "invalid_params", -32002: "not_found", -32601: "unknown_method"]
      #expect(error["code"] == .integer(code), "\(error.text)")
      #expect(error["data"]?["code"] == names[code])
      #expect(error["message"]?.stringValue?.isEmpty == false)
      if !path.isEmpty {
        #expect(error["data"]?["path"] == .string(path))
        #expect(error["data"]?["detail"]?.stringValue?.isEmpty == false)
      }
    }

    @Test("a query that fails says which rule, where and how")
    func failsQueries() throws {
      let error = try client.failure("query", ["name": "echo.bad", "subject": "s"])
      #expect(error["code"] == -32000)
      let data = error["data"]
      #expect(data?["code"] == "rule_failed")
      #expect(data?["plugin"] == "echo")
      #expect(data?["kind"] == "error")
      #expect(data?["file"] == "echo/plugin.lua")
      #expect(data?["line"] == 7)
      #expect(data?["message"]?.stringValue?.holds("no luck") == true)
      #expect(data?["rule"] != nil)
    }
  }
}
