import Glibc
import RuledCore
import RuledJSON
import TestSupport
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

    @Test(arguments: [
      "1", "\"a\"", "-7", "1.50", "1e3", "null", "\"\\u0041\\n\"", "12345678901234567890", "\"\"",
    ])
    func `valid ids are echoed byte for byte`(_ id: String) {
      let reply = client.exchange(
        "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"query\",\"params\":{\"name\":\"echo.n\"}}")
      #expect(reply == "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":{\"n\":0}}")
      let failed = client.exchange("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"nothing\"}")
      #expect(
        failed?.hasPrefix("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"error\":{\"code\":-32601,") == true, "\(failed ?? "")")
    }

    @Test(arguments: [
      "{", "{]", "[1,", "{\"a\":\"\u{1}\"}", "{\"id\":01}", " nonsense", "{} {}",
    ])
    func `a line that is not JSON is a parse error, and the next line is answered`(_ line: String) throws {
      let error = try error(line)
      #expect(error["code"] == -32700)
      #expect(error["data"]?["code"] == "parse_error")
      #expect(try client.call("query", ["name": "echo.n"])["n"] == 0)
    }

    @Test
    func `bytes that are not UTF-8 are a parse error`() throws {
      client.send(
        Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"health\",\"params\":{\"x\":\"".utf8) + [0xFF, 0xC0]
          + Array("\"}}\n".utf8))
      #expect(try JSONValue(parsing: client.line() ?? "")["error"]?["code"] == -32700)
    }

    @Test(arguments: [
      "{}", "[]", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"health\"}", "{\"jsonrpc\":\"2.0\",\"id\":1}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"health\"}",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"health\",\"params\":3}",
    ])
    func `JSON that is not a request is an invalid request`(_ line: String) throws {
      let error = try error(line)
      #expect(error["code"] == -32600)
      #expect(error["data"]?["code"] == "invalid_request")
    }

    @Test
    func `a batch is answered with one array, in order and without its notifications`() throws {
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

    @Test func `requests of a batch that other threads execute, or that show the store, keep their order too`() throws {
      func batch(_ requests: (method: String, params: JSONValue)...) throws -> [JSONValue] {
        let text = requests.map { request in
          #"{"jsonrpc":"2.0","id":1,"method":"\#(request.method)","params":\#(request.params.text)}"#
        }
        let reply = try JSONValue(parsing: client.exchange("[" + text.joined(separator: ",") + "]") ?? "")
        return reply.arrayValue?.map { $0["result"] ?? $0 } ?? []
      }
      for number in 0..<20 {
        let subject: JSONValue = .string("ordered \(number)")
        let event: JSONValue = ["type": "count", "subject": subject]
        let listed = try batch(("event", event), ("subjects", ["prefix": subject]), ("log", ["subject": subject]))
        #expect(listed.dropFirst().first?["subjects"] == [subject])
        #expect(listed.last?["entries"]?.arrayValue?.count == 1)
        let forgotten = try batch(("forget", ["subject": subject]), ("subjects", ["prefix": subject]), ("event", event))
        #expect(forgotten.dropFirst().first?["subjects"] == [])
        #expect(forgotten.last?["decisions"]?["echo"]?["n"] == 1)
      }
    }

    @Test
    func `a line over 1 MiB is too large, one of exactly that size is not, and the connection stays open`() throws {
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

    @Test
    func `a line may be 64 deep and not 65`() throws {
      func line(_ depth: Int) -> String {
        let data = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        return
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"event\",\"params\":{\"type\":\"deep\",\"subject\":\"d\",\"data\":\(data)}}"
      }
      #expect(client.exchange(line(62))?.holds("\"result\"") == true)
      #expect(try error(line(63))["code"] == -32700)
    }

    @Test
    func `requests may arrive in pieces, with blank lines and carriage returns between them`() throws {
      let request = "\n\r\n {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"query\",\"params\":{\"name\":\"echo.n\"}}\r\n"
      for byte in request.utf8 {
        client.send([byte])
        #expect(eventually { unreadBytes(of: client.descriptor) == 0 })
      }
      #expect(client.line() == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":0}}")
    }

    @Test
    func `after a half-close all replies arrive, including the one to a last line without newline`() throws {
      let requests = (1...2000).map { Load.event("\($0)", "count", "half:\($0 % 7)", "{}").line }.joined()
      client.send(String(requests.dropLast()))
      client.endWriting()
      let lines = client.remainingLines()
      #expect(lines.count == 2000)
      #expect(lines.allSatisfy { $0.holds("\"result\"") })
    }

    @Test(arguments: [
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
    func `each error has its code and data`(_ method: String, _ params: String, _ code: Int64, _ path: String) throws {
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

    @Test
    func `the error of a failed query names rule, kind, file and line`() throws {
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

extension EndToEnd {
  @Suite struct BatchTests {
    private static let rules = [
      "echo/plugin.lua": """
      plugin { name = "echo", version = "1" }
      rule "c" { on = "c", run = function(event, state)
        for i = 1, 100 do state.n = state.n end
        state.n = (state.n or 0) + 1
        decide("n", state.n)
      end }
      query "n" (function(state) return { n = state and state.n or 0 } end)
      """
    ]
    private static let events = 20_000

    private func daemon() throws -> RuledDaemon {
      try RuledDaemon(
        rules: Self.rules, configuration: "workers = 1\nlimits = { request_bytes = 4 << 20 }", store: "memory:")
    }

    /// Queries the subject's count until the batch is done; returns the counts in between.
    private func counts(_ client: Client) throws -> [Int64] {
      var counts: [Int64] = []
      repeat {
        counts.append(try client.call("query", ["name": "echo.n", "subject": "s"])["n"]?.intValue ?? 0)
      } while counts.last.map { $0 < Self.events } == true
      return counts.filter { 0 < $0 && $0 < Self.events }
    }

    @Test func `other clients are answered while a batch is executed, and its events keep their order`() throws {
      let daemon = try daemon()
      let (batcher, other) = (try daemon.client(), try daemon.client())
      let event = #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"c","subject":"s"}}"#
      let batch = "[" + Array(repeating: event, count: Self.events).joined(separator: ",") + "]\n"
      let threads = Threads.start(1) { _ in batcher.send(batch + event + "\n") }
      #expect(try counts(other).count > 3)
      Threads.join(threads)
      var lines = [batcher.line(), batcher.line()].compactMap { $0 }
      let whole = try JSONValue(parsing: try #require(lines.first { $0.hasPrefix("[") })).arrayValue ?? []
      lines.removeAll { $0.hasPrefix("[") }
      #expect(whole.map { $0["result"]?["decisions"]?["echo"]?["n"]?.intValue } == (1...Int64(Self.events)).map { $0 })
      let single = try JSONValue(parsing: try #require(lines.first))
      #expect(single["result"]?["decisions"]?["echo"]?["n"]?.intValue == Int64(Self.events) + 1)
    }

    @Test func `other clients are answered while an HTTP batch is executed`() throws {
      let daemon = try daemon()
      let (batcher, other) = (try daemon.client(), try daemon.client())
      let body = "[" + Array(repeating: #"{"type":"c","subject":"s"}"#, count: Self.events).joined(separator: ",") + "]"
      let head =
        "POST /v1/events HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/cloudevents-batch+json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n"
      let threads = Threads.start(1) { _ in batcher.send(head + body) }
      #expect(try counts(other).count > 3)
      Threads.join(threads)
      var lines: [String] = []
      while let line = batcher.line(), line != "\r" { lines.append(line) }
      #expect(lines.first == "HTTP/1.1 200 OK\r")
    }
  }
}
