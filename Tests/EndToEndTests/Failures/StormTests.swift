import Glibc
import RuledCore
import RuledJSON
import TestSupport
import Testing

extension EndToEnd {
  /// Rules whose messages cause more and more messages.
  @Suite struct StormTests {
    /// A plugin that sends `n` messages for each one that it receives, to the subjects in the Lua expression `name`.
    private static func storm(_ n: Int, to name: String, _ more: String = "") -> String {
      """
      plugin { name = "storm", version = "1" }
      rule "storm" { on = "storm", run = function(event, state)
        state.n = (state.n or 0) + 1
        for i = 1, \(n) do send(\(name), "storm") end
        \(more)
      end }
      rule "burst" { on = "burst", run = function() for i = 1, 600 do send(\(name), "storm") end end }
      """
    }

    private static let few = #""s:" .. i % 50"#

    /// Work of a rule that takes about a millisecond, however the daemon was built: so a storm outlasts what a test does meanwhile.
    private static let slow = "for i = 1, 200000 do end"

    /// A plugin that forwards numbers and records the order in which they arrive.
    private static let relay = """
      plugin { name = "relay", version = "1" }
      rule "pass" { on = "pass", run = function(event) send(event.data.to, "passed", { n = event.data.n }) end }
      rule "passed" { on = "passed", run = function(event, state)
        state.got = state.got or array {}
        state.got[#state.got + 1] = event.data.n
      end }
      """

    private static func rules(_ storm: String) -> [String: String] {
      ["storm/plugin.lua": storm, "relay/plugin.lua": relay]
    }

    private static func begin(_ count: Int, _ client: Client, _ type: String = "storm") throws {
      for number in 0..<count { try client.event(type, "root:\(number)") }
    }

    /// Whether a number falls to zero, however long that takes: each wait is for it to fall at all.
    private static func fallsToZero(_ number: () throws -> Int64) throws -> Bool {
      var last = try number()
      while last > 0 {
        guard try eventually({ try number() < last }) else { return false }
        last = try number()
      }
      return true
    }

    private static func waiting(_ client: Client) throws -> Int64 {
      try #require(try client.call("health")["messages"]?["waiting"]?.intValue)
    }

    private static func got(_ client: Client, _ subject: String) throws -> [Int64] {
      let state = try client.reply("state", ["subject": .string(subject)])["result"]?["plugins"]?["relay"]?["got"]
      return (state?.arrayValue ?? []).compactMap(\.intValue)
    }

    @Test func `a message storm starves neither clients nor other plugins, is reported, and ends with its plugin`()
      throws
    {
      let daemon = try RuledDaemon(rules: Self.rules(Self.storm(3, to: Self.few, Self.slow)))
      let client = try daemon.client()
      // Each cascade takes minutes to its limit.
      try Self.begin(20, client, "burst")
      for n in 1...50 {
        try client.event("pass", "sender", ["to": "receiver", "n": .integer(Int64(n))])
      }
      #expect(try eventually { try Self.got(client, "receiver").count == 50 })
      #expect(try Self.waiting(client) > 0, "the storm was over too early")
      #expect(try eventually { try client.call("health")["messages"]?["storming"] == ["storm"] })
      let health = try client.call("health")
      #expect(health["status"] == "degraded" && health["problems"]?.text.holds("storm") == true)
      #expect(try Self.got(client, "receiver") == Array(1...50))
      TemporaryFolder.remove("\(daemon.folder.path)/rules/storm")
      _ = try client.call("reload")
      #expect(try Self.fallsToZero { try Self.waiting(client) })
      let parked = try client.call("parked", ["plugin": "storm", "limit": 1000])["parked"]?.arrayValue ?? []
      #expect(parked.contains { $0["failure"]?["message"]?.stringValue?.holds("no plugin 'storm'") == true })
      daemon.folder.replace(
        "rules/storm/plugin.lua",
        with:
          "plugin { name = 'storm', version = '2' } rule 'r' { on = 'storm', run = function(e, s) s.calm = true end }")
      _ = try client.call("reload")
      #expect(try Self.fallsToZero { try client.call("health")["parked"]?["storm"]?.intValue ?? 0 })
      #expect(try client.call("parked", ["plugin": "storm"])["parked"] == [])
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `messages from before and after the time that a plugin was away come in the order sent`() throws {
      let file = """
        plugin { name = "line", version = "1" }
        rule "many" { on = "many", run = function(event)
          for i = 1, 900 do send("receiver", "next", { n = event.data.after + i }) end
        end }
        rule "next" { on = "next", run = function(event, state)
          for i = 1, 100000 do end
          if event.data.n ~= (state.last or 0) + 1 then state.wrong = (state.wrong or 0) + 1 end
          state.last = event.data.n
        end }
        """
      let daemon = try RuledDaemon(rules: ["line/plugin.lua": file])
      var client = try daemon.client()
      func send(_ batches: Range<Int64>) throws {
        for batch in batches { try client.event("many", "sender", ["after": .integer(batch * 900)]) }
      }
      func parked() throws -> Int64 { try client.call("health")["parked"]?["line"]?.intValue ?? 0 }
      try send(0..<4)
      for (round, restarts) in [(4, false), (7, true)] as [(Int64, Bool)] {
        TemporaryFolder.remove("\(daemon.folder.path)/rules/line")
        daemon.folder.replace("rules/other/plugin.lua", with: "plugin { name = 'other', version = '1' }")
        _ = try client.call("reload")
        #expect(try eventually { try parked() > 100 })
        if restarts { #expect(daemon.end(SIGTERM) == 0) }
        daemon.folder.replace("rules/line/plugin.lua", with: file)
        if restarts {
          try daemon.start()
          client = try daemon.client()
        } else {
          _ = try client.call("reload")
        }
        try send(round..<round + 3)
      }
      #expect(try eventually { try Self.waiting(client) == 0 && parked() == 0 })
      let state = try client.call("state", ["subject": "receiver"])["plugins"]?["line"]
      #expect(state?["last"] == 9000 && state?["wrong"] == nil, "\(state?.text ?? "")")
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `SIGTERM ends a storm to ever new subjects, in bounded memory, and loses or repeats no other message`()
      throws
    {
      let daemon = try RuledDaemon(rules: Self.rules(Self.storm(100, to: "uuid() .. i")))
      var client = try daemon.client()
      try Self.begin(50, client)
      for n in 1...200 { try client.event("pass", "from:\(n % 3)", ["to": "receiver", "n": .integer(Int64(n))]) }
      #expect(try eventually { try Self.waiting(client) > 10_000 })
      #expect(daemon.residentKiB < 600 << 10, "\(daemon.residentKiB >> 10) MiB")
      #expect(daemon.end(SIGTERM) == 0)
      try daemon.start()
      client = try daemon.client()
      for n in 201...250 { try client.event("pass", "from:\(n % 3)", ["to": "receiver", "n": .integer(Int64(n))]) }
      #expect(try eventually { try Self.got(client, "receiver").count >= 250 })
      let got = try Self.got(client, "receiver")
      for sender in 0..<3 as Range<Int64> {
        #expect(got.filter { $0 % 3 == sender } == (1...250).filter { $0 % 3 == sender })
      }
      #expect(daemon.residentKiB < 600 << 10, "\(daemon.residentKiB >> 10) MiB")
      #expect(daemon.end(SIGTERM) == 0)
    }

    @Test(.oneDaemon("a node that ends answers what waits with unavailable, and a repeat finds the outcome"))
    func `at shutdown, a request that waits for a storm is answered with a pending cascade`() throws {
      // One worker applies all of it.
      let daemon = try RuledDaemon(rules: Self.rules(Self.storm(10, to: "'s'", Self.slow)))
      let client = try daemon.client()
      try Self.begin(3, try daemon.client())
      client.send(
        #"{"jsonrpc":"2.0","id":1,"method":"event","params":{"type":"storm","subject":"w","wait":"cascade"}}"# + "\n")
      let other = try daemon.client()
      #expect(try eventually { try other.reply("state", ["subject": "w"])["result"]?["version"] == 1 })
      #expect(daemon.end(SIGTERM) == 0)
      let reply = try JSONValue(parsing: try #require(client.line()))
      #expect(reply["result"]?["version"] == 1 && reply["result"]?["cascade"] == "pending", "\(reply.text)")
    }

    @Test func `a cascade at its limit fails with a cycle and is parked, and the reply that waits for it is complete`()
      throws
    {
      let daemon = try RuledDaemon(rules: Self.rules(Self.storm(100, to: Self.few)))
      let client = try daemon.client()
      let outcome = try client.event("storm", "w", [:], with: ["wait": "cascade"])
      #expect(outcome["version"] == 1 && outcome["cascade"] == nil)
      #expect(try Self.waiting(client) == 0)
      let parked = try client.call("parked", ["plugin": "storm", "limit": 1])["parked"]?[0]
      #expect(parked?["failure"]?["kind"] == "cycle")
      #expect(daemon.end(SIGTERM) == 0)
    }
  }
}
