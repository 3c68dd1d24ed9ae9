import RuledCore
import RuledJSON
import TestSupport
import Testing

extension EndToEnd {
  /// What `rulectl` shows of a cascade and of failures, on a running daemon.
  @Suite struct ExplainTests {
    private static let rules = """
      plugin { name = "friends", settings = { most = 2 } }
      rule "invite" {
        on = "friend.invited",
        when = function(event, state) return event.data.friend and (state.invited or 0) < settings.most end,
        run = function(event, state)
          state.invited = (state.invited or 0) + 1
          send(event.data.friend, "invitation", { from = event.subject })
          timer.set("ask", now() + 86400, "ask.again", {})
          raise("invited.counted", {})
        end,
      }
      rule "counted" { on = "invited.counted", run = function(event, state) decide("invited", state.invited) end }
      rule "invitation" {
        on = "invitation",
        run = function(event, state)
          state.from = event.data.from
          send(event.data.from, "invitation.seen", {})
        end,
      }
      rule "seen" { on = "invitation.seen", run = function(event, state) state.seen = true end }
      rule "ask" { on = "ask.again", run = function() error("nobody to ask") end }

      """

    private func rulectl(_ daemon: RuledDaemon, _ words: String...) -> (code: Int32, output: String) {
      Program.run("\(RuledDaemon.programs)/rulectl", ["--socket", daemon.socket] + words)
    }

    private func daemon() throws -> RuledDaemon {
      try RuledDaemon(rules: ["friends/plugin.lua": Self.rules], manualClock: true)
    }

    @Test func `the whole cascade of an event is one tree, with the events still to come`() throws {
      let daemon = try daemon()
      let run = rulectl(daemon, "event", "friend.invited", "user:1", "friend=user:2", "--follow", "--id", "first")
      #expect(run.code == 0)
      let lines = run.output.split(separator: "\n").map(String.init)
      func depth(_ text: String) -> Int? {
        lines.first { $0.contains(text) }.flatMap { line in line.firstIndex { $0.isLetter }.map { line[..<$0].count } }
      }
      #expect(lines.first?.hasPrefix("event friend.invited  user:1") == true)
      let message = try #require(depth("message invitation  user:2"))
      let answer = try #require(depth("message invitation.seen  user:1"))
      #expect(0 < message && message < answer)
      #expect(lines.contains { $0.contains("timer ask.again  user:1  is due at ") })
      #expect(lines.contains { $0.contains("raises invited.counted") })
      #expect(lines.filter { $0.contains("message ") }.allSatisfy { $0.contains("  +") }, "each has its time")

      let json = rulectl(daemon, "event", "friend.invited", "user:1", "friend=user:2", "--follow", "--json")
      let tree = try JSONValue(parsing: json.output)
      let first = tree["followed"]?.arrayValue?.first { $0["event"]?["type"] == "invitation" }
      #expect(first?["origin"] == "message" && first?["subject"] == "user:2")
      #expect(first?["followed"]?[0]?["event"]?["type"] == "invitation.seen")
    }

    @Test func `a dry run is followed as far as it goes, and leaves no trace`() throws {
      let daemon = try daemon()
      let run = rulectl(daemon, "event", "friend.invited", "user:1", "friend=user:2", "--follow", "--dry-run")
      #expect(run.code == 0)
      #expect(run.output.hasPrefix("event friend.invited  user:1  dry run, nothing is stored"))
      #expect(run.output.contains("message invitation  user:2  would be sent"))
      #expect(run.output.contains("timer ask.again  user:1  would be due at "))
      #expect(run.output.contains("raises invited.counted"))
      #expect(rulectl(daemon, "subjects").output.hasPrefix("no subjects"))
      let mistyped = rulectl(daemon, "event", "friend.invted", "user:1", "--follow", "--dry-run")
      #expect(mistyped.output.contains("no rule listens to 'friend.invted'; did you mean 'friend.invited'?"))
    }

    @Test func `messages and fired timers are explained as past events, and watch shows their failures`() throws {
      let daemon = try daemon()
      let client = try daemon.client()
      let trace = try client.event(
        "friend.invited", "user:1", ["friend": "user:2"], with: ["explain": true, "wait": "cascade"])["trace"]
      let follows = trace?[0]?["follows"]?.arrayValue ?? []
      #expect(follows.map { $0["kind"] } == ["message", "timer"])
      _ = try client.call("clock", ["advance": "1d"])
      for event in follows {
        let id = event["id"]?.stringValue ?? "?"
        let run = rulectl(daemon, "explain", event["subject"]?.stringValue ?? "?", id)
        #expect(run.code == 0)
        #expect(run.output.contains("from a \(event["kind"]?.stringValue ?? "?")"))
      }
      let watch = rulectl(daemon, "watch", "user:1", "--after", "0", "--count", "3")
      #expect(watch.output.contains("ask.again"))
      #expect(watch.output.contains("friends/plugin.lua:21: nobody to ask"))
    }

    @Test func `a rule that did not fire says which condition was false`() throws {
      let daemon = try daemon()
      for _ in 0..<2 { _ = rulectl(daemon, "event", "friend.invited", "user:1", "friend=user:2") }
      let run = rulectl(daemon, "event", "friend.invited", "user:1", "friend=user:2", "--explain", "--dry-run")
      let line = "○ invite: 'when' was false: (state.invited or 0) < settings.most  friends/plugin.lua:4"
      #expect(run.output.contains(line))
      #expect(run.output.contains("with state.invited = 2, settings.most = 2"))
      let quiet = rulectl(
        daemon, "event", "friend.invited", "user:1", "friend=user:2", "--explain", "--dry-run", "--no-values")
      #expect(quiet.output.contains("'when' was false: (state.invited or 0)"))
      #expect(!quiet.output.contains("= 2"))
    }
  }
}
