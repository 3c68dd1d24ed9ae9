import Glibc
import RuledCore
import TestSupport
import Testing

extension EndToEnd {
  /// Shadows: rules that see live events in a world of their own.
  @Suite struct ShadowTests {
    private static func sent(_ text: String) -> JSONValue {
      [
        "plugins": [["name": "numbered", "modules": [["path": "numbered/plugin.lua", "text": .string(text)]]]]
      ]
    }

    /// Sends events of all kinds about twenty subjects, with timers and messages.
    private func send(_ client: Client) throws {
      for round in 0..<5 {
        for subject in 0..<20 {
          _ = try client.event("ask", "user:\(subject)")
          _ = try client.event("pass", "user:\(subject)", ["to": .string("user:\((subject + round) % 20)")])
          _ = try client.event("set", "user:\(subject)")
        }
        _ = try client.call("clock", ["advance": "61s"])
      }
    }

    /// Starts a shadow of rules with a number; the one before may take a while to end.
    private func start(_ daemon: RuledDaemon, _ client: Client, _ number: Int, percent: JSONValue = 100) throws {
      let hasStarted = try eventually {
        daemon.hurry("ruled-shadow")
        let rules = Self.sent(RolloutTests.rules(number))
        return try client.reply("shadow_start", ["rules": rules, "percent": percent])["result"] != nil
      }
      try #require(hasStarted)
    }

    /// The status once as many events were seen as were committed.
    private func status(_ daemon: RuledDaemon, _ client: Client, events: Int64) throws -> JSONValue {
      let haveCome = try eventually {
        daemon.hurry("ruled-shadow")
        _ = try client.call("clock", ["advance": "1s"])
        return try client.call("shadow_status")["events"]?.intValue ?? 0 >= events
      }
      #expect(haveCome)
      return try client.call("shadow_status")
    }

    @Test
    func `equal rules show no difference, and a planted one is found with its place; nothing of it is seen outside`()
      throws
    {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": RolloutTests.rules(1)], manualClock: true)
      let client = try daemon.client()
      #expect(try client.failure("shadow_status")["data"]?["code"] == "not_found")
      try send(client)
      for number in [1, 2] {
        try start(daemon, client, number)
        let before = try client.call("counters", ["prefix": "numbered.side"])[0]?["value"]?.intValue ?? 0
        try send(client)
        // 100 of each kind: asked, passed on, taken, set, and rung.
        let status = try status(daemon, client, events: 480)
        #expect(status["error"] == nil, "\(status.text)")
        if number == 1 {
          #expect(status["outcomes"]?["changed"] == 0, "\(status.text)")
        } else {
          let decision = status["decisions"]?[0]
          #expect(decision?["plugin"] == "numbered" && decision?["key"] == "number")
          #expect((decision?["changed"]?.intValue ?? 0) >= 95 && decision?["equal"] == 0)
          #expect(decision?["changes"]?[0]?["before"] == 1 && decision?["changes"]?[0]?["after"] == 2)
          #expect(status["examples"]?.arrayValue?.isEmpty == false)
        }
        #expect(try client.call("counters", ["prefix": "numbered.side"])[0]?["value"]?.intValue == before + 100)
        #expect(try client.call("state", ["subject": "user:1"])["plugins"]?["numbered"]?["number"] == 1)
        _ = try client.call("shadow_stop")
      }
      let isCopyGone = eventually {
        daemon.hurry("ruled-shadow")
        return !TemporaryFolder.names(daemon.folder("store/journal")).contains("replay-shadow")
      }
      #expect(isCopyGone)
      try start(daemon, client, 2, percent: 50)
      #expect(daemon.end(SIGTERM) == 0)
      #expect(daemon.log.contains("ends with the daemon"))
    }

    @Test func `an example is gone as soon as its subject is forgotten`() throws {
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": RolloutTests.rules(1)], manualClock: true)
      let client = try daemon.client()
      _ = try client.call("shadow_start", ["rules": Self.sent(RolloutTests.rules(2))])
      for subject in ["ada", "bob"] { _ = try client.event("ask", subject) }
      #expect(try status(daemon, client, events: 2)["examples"]?.arrayValue?.count == 2)
      _ = try client.call("forget", ["subject": "ada"])
      let examples = try client.call("shadow_status")["examples"]?.arrayValue
      #expect(examples?.map { $0["subject"] } == ["bob"])
    }

    @Test func `a shadow misses no event that comes right after its start, though its own messages raise versions`()
      throws
    {
      func rules(_ more: String) -> String {
        """
        plugin { name = "numbered" }
        rule "ask" { on = "ask", run = function(event, state) state.n = (state.n or 0) + 1 decide("n", state.n) \(more) end }
        rule "own" { on = "own", run = function(event, state) state.own = true end }

        """
      }
      let daemon = try RuledDaemon(rules: ["numbered/plugin.lua": rules("")], manualClock: true)
      let client = try daemon.client()
      for number in 0..<10 { _ = try client.event("ask", "user:\(number % 2)") }
      _ = try client.call("shadow_start", ["rules": Self.sent(rules("send(event.subject, 'own', {})"))])
      for number in 0..<80 { _ = try client.event("ask", "user:\(number % 2)") }
      let status = try status(daemon, client, events: 80)
      #expect(status["events"] == 80 && status["skipped"] == 0, "\(status.text)")
      let decision = status["decisions"]?.arrayValue?.first { $0["key"] == "n" }
      #expect(decision?["equal"] == 80 && decision?["changed"] == 0, "\(status.text)")
    }
  }
}
