import Glibc
import RuledCore
import RuledJSON
import TestSupport
import Testing

extension EndToEnd {
  /// Events to all members of a topic.
  @Suite struct TopicTests {
    /// Members check by themselves that they are told each number once and in order.
    private static let rules = """
      plugin { name = "news", version = "1" }
      rule "found" { on = "found", run = function(event)
        for n = event.data.from, event.data.to do send("member:" .. n, "join") end
      end }
      rule "join" { on = "join", run = function() topic.join("all") end }
      rule "leave" { on = "leave", run = function() topic.leave("all") end }
      rule "go" { on = "go", run = function(event) publish("all", "came", { n = event.data.n }, { except = event.subject }) end }
      rule "came" { on = "came", run = function(event, state)
        if event.data.n ~= (state.n or 0) + 1 then count("news.disorder") end
        state.n = event.data.n
        count("news.came")
      end }
      query "count" (function() return topic.count("all") end)
      """

    private static func counters(_ client: Client) throws -> [String: Int64] {
      let all = try client.call("counters", ["prefix": "news."]).arrayValue ?? []
      return all.reduce(into: [:]) { $0[$1["name"]?.stringValue ?? ""] = $1["value"]?.intValue }
    }

    private static func found(_ members: Int, _ client: Client) throws {
      for first in stride(from: 0, to: members, by: 1_000) {
        let range: JSONValue = ["from": .integer(Int64(first)), "to": .integer(Int64(min(members, first + 1_000) - 1))]
        try client.event("found", "founder:\(first)", range, with: ["wait": "cascade"])
      }
    }

    @Test func `20,000 members are told once and in order, through a kill, and a reply waits for the last one`() throws
    {
      let members = 20_000
      let daemon = try RuledDaemon(rules: ["news/plugin.lua": Self.rules])
      var client = try daemon.client()
      try Self.found(members, client)
      #expect(try client.call("query", ["name": "news.count"]) == .integer(Int64(members)))
      try client.event("go", "author", ["n": 1])
      _ = try eventually { try Self.counters(client)["news.came", default: 0] > members / 10 }
      #expect(daemon.end(SIGKILL) != 0)
      try daemon.start()
      client = try daemon.client()
      #expect(try eventually { try Self.counters(client)["news.came", default: 0] >= members })
      #expect(try Self.counters(client) == ["news.came": Int64(members)])
      #expect(try client.event("go", "author", ["n": 2], with: ["wait": "cascade"])["cascade"] == nil)
      #expect(try Self.counters(client) == ["news.came": Int64(2 * members)])
      let listed = try client.call("topics", ["prefix": "news/"])
      #expect(listed["topics"] == [["name": "news/all", "members": .integer(Int64(members)), "publications": 0]])
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `a reply that waits for a cascade waits for the members of a topic, and the tool lists it`() throws {
      let daemon = try RuledDaemon(rules: ["news/plugin.lua": Self.rules])
      let client = try daemon.client()
      try Self.found(200, client)
      for n in 1...3 as ClosedRange<Int64> {
        let outcome = try client.event("go", "author", ["n": .integer(n)], with: ["wait": "cascade"])
        #expect(outcome["cascade"] == nil)
        #expect(try Self.counters(client) == ["news.came": 200 * n])
      }
      try client.event("leave", "member:7")
      _ = try client.call("forget", ["subject": "member:8"])
      try client.event("go", "author", ["n": 4], with: ["wait": "cascade"])
      #expect(try Self.counters(client) == ["news.came": 600 + 198])
      #expect(try client.call("export", ["subject": "member:9"])["topics"] == ["news/all"])
      #expect(try client.call("topics")["topics"]?[0]?["members"] == 198)
      #expect(daemon.end(SIGTERM) == 0)
    }
  }
}
