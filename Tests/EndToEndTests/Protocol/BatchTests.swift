import RuledCore
import RuledJSON
import Testing

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

    /// Asks for the subject's count until the batch is through; answers the counts that were seen on the way.
    private func counts(_ client: Client) throws -> [Int64] {
      var counts: [Int64] = []
      repeat {
        counts.append(try client.call("query", ["name": "echo.n", "subject": "s"])["n"]?.intValue ?? 0)
      } while counts.last.map { $0 < Self.events } == true
      return counts.filter { 0 < $0 && $0 < Self.events }
    }

    @Test func `others are answered while a batch is carried out, and its events keep their order`() throws {
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

    @Test func `others are answered while a batch over HTTP is carried out`() throws {
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
