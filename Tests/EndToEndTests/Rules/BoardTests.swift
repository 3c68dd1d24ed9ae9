import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// Boards of a real daemon: over kills, over the time of a board, and in backtests.
  @Suite struct BoardTests {
    private static let rules = [
      "ranks/plugin.lua": """
      plugin { name = "ranks", version = "1" }
      rule "score" { on = "score", run = function(event, state)
        board.add("week", event.data.n, { keep = "30d" })
        board.set("last", event.data.n)
      end }
      rule "leave" { on = "leave", run = function() board.leave("last") end }
      query "top" (function(_, args) return board.top(args.name, args.n) end)
      query "rank" (function(_, args) return { rank = board.rank("week", args.who), count = board.count("week") } end)
      """
    ]

    private func subjects(_ client: Client, _ name: String) throws -> [String] {
      let places = try client.call("query", ["name": "ranks.top", "args": ["name": .string(name), "n": 1000]])
      return (places.arrayValue ?? []).map { "\($0["subject"]?.stringValue ?? "?")=\($0["score"]?.text ?? "?")" }
    }

    @Test func `a query sees the change of an event that was answered, and a kill loses none`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, manualClock: true)
      var client = try daemon.client()
      for number in 1...20 as ClosedRange<Int64> {
        try client.event("score", "user:\(number)", ["n": .integer(number % 5)])
        let rank = try client.call("query", ["name": "ranks.rank", "args": ["who": .string("user:\(number)")]])
        #expect(rank["count"] == .integer(number) && rank["rank"] != nil)
      }
      try client.event("leave", "user:4")
      let boards = (try subjects(client, "week"), try subjects(client, "last"))
      #expect(boards.0.prefix(5) == ["user:4=4", "user:9=4", "user:14=4", "user:19=4", "user:3=3"])
      #expect(boards.1.first == "user:9=4" && boards.1.count == 19)
      for signal in [SIGKILL, SIGTERM] {
        daemon.end(signal)
        try daemon.start()
        client = try daemon.client()
        #expect(try subjects(client, "week") == boards.0 && subjects(client, "last") == boards.1)
      }
      #expect(
        try client.call("export", ["subject": "user:4"])["boards"] == [["board": "ranks/week", "score": 4]])
      _ = try client.call("forget", ["subject": "user:4"])
      #expect(try subjects(client, "week").first == "user:9=4")
      _ = try client.call("clock", ["advance": "30d"])
      #expect(try subjects(client, "week").isEmpty && subjects(client, "last").count == 19)
      try client.event("score", "user:9", ["n": 1])
      #expect(try subjects(client, "week") == ["user:9=1"])
      daemon.end(SIGKILL)
      try daemon.start()
      #expect(try subjects(try daemon.client(), "week") == ["user:9=1"])
      #expect(daemon.end(SIGTERM) == 0)
    }
  }
}
