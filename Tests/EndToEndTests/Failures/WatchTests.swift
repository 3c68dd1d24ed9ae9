import Glibc
import RuledCore
import RuledJSON
import TestSupport
import Testing

extension EndToEnd {
  /// Watches that go on where they were when the daemon ended.
  @Suite(.oneDaemon("the end of one process is meant; Tests/Outside/test_nodes.py has take-overs"))
  struct WatchTests {
    private static let rules = [
      "greeter/plugin.lua": """
      plugin { name = "greeter", version = "1", sinks = { "client" } }
      rule "greet" { on = "greet", run = function(event, state)
        state.n = (state.n or 0) + 1
        decide("words", 'say "hello"')
        emit("client", "hi", { n = state.n })
        raise("greeted.once", {})
        send("friend", "greeted", { by = event.subject })
        timer.set("later", now() + 60, "later", {})
      end }
      rule "greeted" { on = "greeted", run = function(event, state) state.by = event.data.by end }
      rule "later" { on = "later", run = function(event, state) state.later = true end }
      """,
      "listener/plugin.lua": """
      plugin { name = "listener", version = "1" }
      rule "hear" { on = "greeted.once", run = function() end }
      """,
      "shaky/plugin.lua": """
      plugin { name = "shaky", version = "1" }
      rule "shake" { on = "shake", run = function() error("no") end }
      rule "greet" { on = "greet", when = function() return false end, run = function() end }
      """,
    ]

    /// The changes up to that of the subject `end`, without the watch's number.
    private func changes(_ client: Client, after: Int64) throws -> [String] {
      _ = try client.call("watch", ["after": .integer(after)])
      var changes: [String] = []
      while changes.last?.contains(#""subject":"end""#) != true {
        let line = try #require(client.line())
        changes.append(line.replacing(#/"watch":\d+,/#, with: ""))
      }
      return changes
    }

    @Test func `a filter takes the memory of its distinct names, and gives it back when its connection closes`() throws
    {
      let daemon = try RuledDaemon(rules: Self.rules)
      let same = JSONValue.array(Array(repeating: "x", count: 100_000))
      let distinct = JSONValue.array((0..<7_000).map { .string("plugin\($0)") })
      func watch(_ plugins: JSONValue, times: Int) throws {
        let client = try daemon.client()
        for _ in 0..<times { _ = try client.call("watch", ["plugins": plugins]) }
      }
      try watch(same, times: 1)
      let before = daemon.residentKiB
      try watch(same, times: 80)
      for _ in 0..<100 { try watch(distinct, times: 1) }
      #expect(try daemon.client().call("health")["status"] == "ready")
      #expect(daemon.residentKiB - before < 50 << 10)
    }

    @Test func `changes from before a kill or a stop come as they came then, in all kinds`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, manualClock: true)
      let client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00Z"])
      for subject in ["a", "b"] {
        _ = try client.call("event", ["type": "greet", "subject": .string(subject), "wait": "cascade"])
      }
      _ = try client.call("event", ["type": "greet", "subject": #"q"ü"#, "id": #"an "id" ü"#, "wait": "cascade"])
      _ = try client.call("clock", ["advance": "2m"])
      _ = try client.event("shake", "s")
      _ = try client.event("nobody.listens", "s")
      daemon.folder.replace(
        "rules/shaky/plugin.lua",
        with:
          "plugin { name = 'shaky', version = '2' }\nrule 'shake' { on = 'shake', run = function() decide('ok', 1) end }"
      )
      _ = try client.call("reload")
      #expect(try eventually { try client.call("parked")["parked"] == [] })
      _ = try client.call("forget", ["subject": "b"])
      _ = try client.event("nobody.listens", "end")
      let lived = try changes(daemon.client(), after: 0)
      #expect(lived.contains { $0.contains(#""plugins":["greeter","listener","shaky"]"#) })
      #expect(lived.contains { $0.contains(#""failures":[{"plugin":"shaky""#) })
      #expect(!lived.contains { $0.contains(#""subject":"b""#) && !$0.contains("ruled.forgotten") })
      for ending in [SIGKILL, SIGTERM, SIGKILL] {
        daemon.end(ending)
        try daemon.start()
        #expect(try changes(daemon.client(), after: 0) == lived, "after signal \(ending)")
      }
      let sequence = try JSONValue(parsing: lived[4])["params"]?["sequence"]?.intValue ?? 0
      #expect(try changes(daemon.client(), after: sequence) == Array(lived[5...]))
      _ = try daemon.client().event("greet", "a")
      let watcher = try daemon.client()
      _ = try watcher.call("watch", ["after": .integer(0), "plugins": ["listener"], "subject": "a"])
      let versions = try (0..<2).map { _ in
        try JSONValue(parsing: try #require(watcher.line()))["params"]?["version"]?.intValue
      }
      #expect(versions == [1, 3], "old changes are followed by new ones")
    }

    @Test func `without a journal a watch says how many changes the daemon's end has cost it`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, configuration: #"journal = { keep = "0" }"#)
      for _ in 0..<3 { _ = try daemon.client().event("nobody.listens", "a") }
      daemon.end(SIGKILL)
      try daemon.start()
      let watcher = try daemon.client()
      _ = try watcher.call("watch", ["after": 1])
      let line = try JSONValue(parsing: try #require(watcher.line()))
      #expect(line["method"] == "lagged" && line["params"]?["missed"] == 2)
    }
  }
}
