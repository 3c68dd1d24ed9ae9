import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// Clients that send many slow requests at once, beside others.
  @Suite(.oneDaemon("it is about the turns of one process")) struct TurnTests {
    private static let rules = [
      "p/plugin.lua": """
      plugin { name = "p", version = "1" }
      local function work()
        local sum = 0
        for number = 1, 200000 do sum = sum + number end
        return sum
      end
      rule "slow" { on = "slow", run = function(event, state)
        if event.data.number < (state.last or 0) then state.disorder = event.data.number end
        state.last, state.sum = event.data.number, work()
      end }
      rule "quick" { on = "quick", run = function(event, state) state.n = (state.n or 0) + 1 end }
      query "slow" (function(args) return { sum = work() } end)
      """
    ]

    private static func request(_ form: String, _ number: Int) -> String {
      switch form {
      case "events":
        """
        {"jsonrpc":"2.0","id":\(number),"method":"event","params":{"type":"slow","subject":"a","data":{"number":\(number)}}}
        """
      case "events that have to be parsed":
        """
        {"params":{"data":{"number":\(number)},"subject":"a","type":"slow"},"method":"event","id":\(number),"jsonrpc":"2.0"}
        """
      case "queries":
        """
        {"jsonrpc":"2.0","id":\(number),"method":"query","params":{"name":"p.slow","subject":"a","args":{}}}
        """
      default: request(number % 2 == 0 ? "queries" : "events", number)
      }
    }

    @Test(arguments: ["events", "events that have to be parsed", "queries", "events and queries"])
    func `slow requests that a client sends at once leave others their turns and keep their order`(form: String) throws
    {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: "workers = 1")
      let (many, other) = (try daemon.client(), try daemon.client())
      let lines = (1...300).map { Self.request(form, $0) + "\n" }.joined()
      // The test itself may have to wait for its processor until all are answered.
      let hadTurn = try eventually {
        let before = try other.event("quick", "b")["version"]?.intValue ?? 0
        many.send(lines)
        #expect(try other.event("quick", "b")["version"]?.intValue == before + 1)
        #expect(try other.call("health")["status"] == "ready")
        let first = many.countLines()
        for number in 1...300 {
          let line = try #require(many.line())
          #expect(line.holds("\"id\":\(number),") && line.holds("result"), "\(line)")
        }
        return first < 300
      }
      #expect(hadTurn, "the other client had to wait for all of them")
      if form == "queries" { return }
      let last: JSONValue = form == "events and queries" ? 299 : 300
      #expect(try other.call("state", ["subject": "a"])["plugins"]?["p"]?["last"] == last)
    }

    @Test(arguments: [1, 2], ["lines", "a batch"])
    func `of a client that has gone, events are executed, and queries are not`(workers: Int, form: String) throws {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: "workers = \(workers)")
      let other = try daemon.client()
      let count = 2_000
      let queries = (1...count).map {
        Self.request("queries", $0).replacing("\"a\"", with: "\"a\($0 % 50)\"")
      }
      let last = Self.request("events", 1).replacing("slow", with: "quick")
      do {
        let client = try daemon.client()
        if form == "lines" {
          client.send((queries + [last]).map { $0 + "\n" }.joined())
        } else {
          client.send(
            "[\((queries + [last]).joined(separator: ","))]\n" + last.replacing("\"a\"", with: "\"b\"") + "\n")
        }
      }
      #expect(try eventually { try other.reply("state", ["subject": "a"])["result"]?["version"] == 1 })
      let reader = try daemon.client()
      reader.send("GET /metrics HTTP/1.1\r\nHost: ruled\r\nConnection: close\r\n\r\n")
      var executed: Int?
      while let line = reader.line() {
        if line.hasPrefix("ruled_queries_total ") { executed = Int(line.dropFirst(20)) }
      }
      #expect(try #require(executed) < count)
    }

    @Test(arguments: [1, 2]) func `lines and batches of slow requests keep their order`(workers: Int) throws {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: "workers = \(workers)")
      let client = try daemon.client()
      let (lines, batches) = (10, 10)
      var number = 0
      func next() -> String {
        number += 1
        return Self.request("events", number)
      }
      for _ in 0..<batches {
        let before = (0..<lines).map { _ in next() }
        let batch = (0..<lines).map { index in
          index % 3 == 0 ? next() : Self.request("events", 100_000 + index).replacing("\"a\"", with: "\"b\(index)\"")
        }
        client.send((before + ["[\(batch.joined(separator: ","))]"]).map { $0 + "\n" }.joined())
      }
      for _ in 0..<(lines + 1) * batches { _ = try #require(client.line()) }
      let state = try client.call("state", ["subject": "a"])["plugins"]?["p"]
      #expect(state?["last"] == .integer(Int64(number)) && state?["disorder"] == nil, "\(String(describing: state))")
    }
  }
}
