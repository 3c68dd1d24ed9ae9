import Glibc
import RuledCore
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  @Suite struct ClockTests {
    private static let rules = [
      "alarm/plugin.lua": """
      plugin { name = "alarm", version = "1" }
      rule "set" { on = "set", run = function(event, state)
        timer.set(event.data.name, now() + event.data.after, "ring", { name = event.data.name })
      end }
      rule "ring" { on = "ring", run = function(event, state)
        state.rings = state.rings or array {}
        state.rings[#state.rings + 1] = event.data.name .. "@" .. math.floor(now())
        send("log", "rang", { name = event.data.name })
        if event.data.name == "again" and #state.rings < 5 then timer.set("again", now() + 3600, "ring", event.data) end
      end }
      rule "rang" { on = "rang", run = function(event, state)
        state.order = (state.order or "") .. event.data.name .. " "
      end }
      rule "count" { on = "count", run = function(event, state)
        state.n = (state.n or 0) + 1
        decide("n", state.n)
      end }
      rule "once" { on = "once", run = function() decide("first", once("k", 60)) end }
      query "now" (function() return now() end)
      """
    ]

    @Test
    func `timers fire in order and at their times while the clock advances, and their messages are applied`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, manualClock: true)
      let client = try daemon.client()
      #expect(try client.call("clock", ["set": "2040-01-01T00:00:00Z"]) == ["now": "2040-01-01T00:00:00.000Z"])
      for (name, after) in [("c", 300), ("a", 100), ("d", 400), ("b", 200), ("z", 900)] {
        try client.event("set", .init("s:\(name)"), ["name": .string(name), "after": .integer(Int64(after))])
      }
      #expect(try client.call("clock", ["advance": "400s"]) == ["now": "2040-01-01T00:06:40.000Z"])
      #expect(try client.call("state", ["subject": "log"])["plugins"]?["alarm"]?["order"] == "a b c d ")
      #expect(try client.call("state", ["subject": "s:b"])["plugins"]?["alarm"]?["rings"] == ["b@2208989000"])
      #expect(try client.failure("state", ["subject": "s:z"])["code"] == nil)
      try client.event("set", "s:again", ["name": "again", "after": 3600])
      _ = try client.call("clock", ["advance": "14d"])
      #expect(try client.call("state", ["subject": "s:again"])["plugins"]?["alarm"]?["rings"]?.arrayValue?.count == 5)
      #expect(try client.call("clock", ["set": "2039-01-01T00:00:00Z"]) == ["now": "2039-01-01T00:00:00.000Z"])
    }

    @Test func `a subject is found while its keys of once hold, and not afterwards`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, manualClock: true)
      let client = try daemon.client()
      try client.event("once", "s")
      #expect(try client.call("export", ["subject": "s"])["once"]?.arrayValue?.count == 1)
      #expect(try client.call("subjects")["subjects"] == ["s"])
      _ = try client.call("clock", ["advance": "60s"])
      #expect(try client.failure("export", ["subject": "s"])["code"] == -32002)
      #expect(try client.call("subjects")["subjects"] == [])
      #expect(try client.event("once", "s")["decisions"]?["alarm"]?["first"] == true)
    }

    @Test func `a clock that is on its way stops once its client has gone`() throws {
      let rules = """
        plugin { name = "fails", version = "1" }
        rule "set" { on = "set", run = function() timer.every("t", { seconds = 1 }, "tick") end }
        rule "tick" { on = "tick", run = function() count("fails.ticks") error("no") end }
        query "now" (function() return now() end)
        """
      let daemon = try RuledDaemon(rules: ["fails/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00Z"])
      try client.event("set", "s")
      do {
        let mover = try daemon.client()
        mover.send(#"{"jsonrpc":"2.0","id":1,"method":"clock","params":{"advance":"365d"}}"# + "\n")
        #expect(try eventually { try client.call("query", ["name": "fails.now"]) != .number(2_208_988_800) })
      }
      #expect(eventually { daemon.log.contains("as the client that moved it has gone") })
      let stopped = try client.call("clock", ["advance": "0s"])["now"]?.stringValue ?? ""
      #expect("2040-01-01T00:00:01" <= stopped && stopped < "2040-12-01")
    }

    @Test func `a kill while the clock moves leaves it no earlier than the last commit`() throws {
      let rules = """
        plugin { name = "p", version = "1" }
        rule "set" { on = "set", run = function() timer.every("t", { seconds = 1 }, "tick") end }
        rule "tick" { on = "tick", run = function(_, state) state.last = now() end }
        query "now" (function() return now() end)
        """
      let daemon = try RuledDaemon(rules: ["p/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      func last(_ client: Client) throws -> Double {
        try client.call("state", ["subject": "s"])["plugins"]?["p"]?["last"]?.doubleValue ?? 0
      }
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00Z"])
      try client.event("set", "s")
      let mover = try daemon.client()
      mover.send(#"{"jsonrpc":"2.0","id":1,"method":"clock","params":{"advance":"365d"}}"# + "\n")
      #expect(try eventually { try last(client) > 2_208_988_800 + 60 })
      daemon.end(SIGKILL)
      try daemon.start()
      let next = try daemon.client()
      let now = try #require(try next.call("query", ["name": "p.now"]).doubleValue)
      #expect(try now >= last(next) && now < 2_208_988_800 + 365 * 86_400)
    }

    @Test(arguments: [0, 10])
    func `a timer that follows from one that the clock fires is fired too, if it comes before that one`(_ seconds: Int)
      throws
    {
      let rules = """
        plugin { name = "p", version = "1" }
        rule "set" { on = "set", run = function() timer.set("t", now() + 60, "due") end }
        rule "due" { on = "due", run = function() send("a", "tell") end }
        rule "tell" { on = "tell", run = function() timer.set("t", now() - \(seconds), "told") end }
        rule "told" { on = "told", run = function(_, state) state.n = (state.n or 0) + 1 end }
        """
      let daemon = try RuledDaemon(rules: ["p/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      try client.event("set", "b")
      _ = try client.call("clock", ["advance": "60s"])
      #expect(try client.call("state", ["subject": "a"])["plugins"]?["p"]?["n"] == 1)
    }

    @Test func `timers that clients set while the clock moves wait for its next move`() throws {
      let rules = """
        plugin { name = "p", version = "1" }
        rule "set" { on = "set", run = function() timer.set("t", now(), "due") end }
        rule "via" { on = "via", run = function(e) send("via:" .. e.id, "set") end }
        rule "due" { on = "due", run = function() count("p.fired") end }
        """
      let daemon = try RuledDaemon(rules: ["p/plugin.lua": rules], manualClock: true)
      let client = try daemon.client()
      func fired() throws -> Int64 { try client.call("counters")[0]?["value"]?.intValue ?? 0 }
      for number in 0..<3 { try client.event("set", "first:\(number)") }
      let flood = Flood()
      let threads = Threads.start(1) { _ in flood.run(daemon.socket) }
      defer {
        flood.isOver.store(true, ordering: .relaxed)
        Threads.join(threads)
      }
      #expect(try eventually { try client.call("subjects", ["prefix": "s:"])["subjects"]?[0] != nil })
      _ = try client.call("clock", ["advance": "1s"])
      flood.isOver.store(true, ordering: .relaxed)
      let once = try fired()
      #expect(once >= 3)
      let mover = try daemon.client()
      mover.send(#"{"jsonrpc":"2.0","id":1,"method":"clock","params":{"advance":"0s"}}"# + "\n")
      #expect(try eventually { try fired() > once })
    }

    /// A client that has more timers set than a clock fires meanwhile, one after the other: some at once, some through messages.
    private final class Flood: Sendable {
      let isOver = Atomic(false)

      func run(_ socket: String) {
        guard let client = try? Client(socket) else { return }
        var number = 0
        while !isOver.load(ordering: .relaxed) {
          let numbers = number..<number + 20
          number += 20
          client.send(numbers.map { Load.event("\($0)", $0 % 2 == 0 ? "set" : "via", "s:\($0)", "{}").line }.joined())
          for _ in numbers where client.line() == nil { return }
        }
      }
    }

    @Test
    func `the manual clock stands still and survives restarts, and pending timers fire once after one`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, manualClock: true)
      var client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00.250Z"])
      try client.event("set", "s", ["name": "a", "after": 60])
      for signal in [SIGTERM, SIGKILL] {
        daemon.end(signal)
        try daemon.start()
        client = try daemon.client()
        #expect(try client.call("export", ["subject": "s"])["timers"]?.arrayValue?.count == 1)
        #expect(try client.call("query", ["name": "alarm.now"]) == .number(2_208_988_800.25))
      }
      _ = try client.call("clock", ["advance": "1h"])
      daemon.end(SIGKILL)
      try daemon.start()
      client = try daemon.client()
      #expect(try client.call("clock", ["advance": "1d"])["now"] == "2040-01-02T01:00:00.250Z")
      #expect(try client.call("state", ["subject": "s"])["plugins"]?["alarm"]?["rings"]?.arrayValue?.count == 1)
      #expect(try client.call("export", ["subject": "s"])["timers"] == [])
    }

    @Test
    func `a timer that came due while the daemon was down fires at start, once`() throws {
      let daemon = try RuledDaemon(rules: Self.rules)
      for subject in 0..<50 {
        try daemon.client().event("set", "s:\(subject)", ["name": "t", "after": 1])
      }
      daemon.end(SIGKILL)
      let due = time(nil) + 2
      #expect(eventually { time(nil) >= due })
      for _ in 0..<2 {
        try daemon.start()
        let client = try daemon.client()
        #expect(try eventually { try client.reply("state", ["subject": "log"])["result"]?["version"] == 50 })
        daemon.end(SIGTERM)
      }
    }

    @Test
    func `timers set in the past fire at once, while later ones wait`() throws {
      let daemon = try RuledDaemon(rules: Self.rules)
      let client = try daemon.client()
      for round in 0..<200 {
        for (name, after) in [("now", 0), ("past", -1000), ("future", 1000), ("older", -2000)] {
          try client.event("set", "s:\(round)", ["name": .string(name), "after": .integer(Int64(after))])
        }
      }
      #expect(try eventually { try client.reply("state", ["subject": "log"])["result"]?["version"] == 600 })
    }

    @Test
    func `a loop of timers makes one event a second, and health names its rule`() throws {
      let looping = """
        plugin { name = "loop", version = "1" }
        rule "again" { on = { "go", "again" }, run = function(event, state)
          state.n = (state.n or 0) + 1
          timer.set("t", now(), "again")
        end }
        """
      let daemon = try RuledDaemon(rules: ["loop/plugin.lua": looping], manualClock: true)
      let client = try daemon.client()
      func count() throws -> JSONValue? { try client.call("state", ["subject": "s"])["plugins"]?["loop"]?["n"] }
      try client.event("go", "s")
      #expect(try count() == 1)
      _ = try client.call("clock", ["advance": "0s"])
      #expect(try count() == 2)
      _ = try client.call("clock", ["advance": "58s"])
      #expect(try count() == 60 && client.call("health")["timers"] == ["looping": [], "away": [:]])
      _ = try client.call("clock", ["advance": "1s"])
      let health = try client.call("health")
      #expect(health["timers"]?["looping"] == [["plugin": "loop", "rule": "again", "subjects": 1]])
      #expect(health["status"] == "ready" && health["problems"]?[0]?.stringValue?.contains("'again'") == true)
    }

    @Test
    func `timers of a plugin that is away wait, are listed, and fire late, once, when it is back`() throws {
      let daemon = try RuledDaemon(
        rules: Self.rules.merging(["other/plugin.lua": "plugin { name = 'other', version = '1' }"]) { $1 },
        manualClock: true)
      var client = try daemon.client()
      _ = try client.call("clock", ["set": "2040-01-01T00:00:00Z"])
      try client.event("set", "s", ["name": "a", "after": 60])
      let rules = try #require(Self.rules["alarm/plugin.lua"])
      unlink("\(daemon.folder.path)/rules/alarm/plugin.lua")
      rmdir("\(daemon.folder.path)/rules/alarm")
      _ = try client.call("reload")
      _ = try client.call("clock", ["advance": "1h"])
      daemon.end(SIGKILL)
      try daemon.start()
      client = try daemon.client()
      _ = try client.call("clock", ["advance": "1h"])
      #expect(try client.call("export", ["subject": "s"])["timers"]?.arrayValue?.count == 1)
      #expect(try client.call("health")["timers"]?["away"] == ["alarm": 1])
      daemon.folder.replace("rules/alarm/plugin.lua", with: rules)
      _ = try client.call("reload")
      _ = try client.call("clock", ["set": "2039-12-31T00:00:00Z"])
      #expect(try client.call("state", ["subject": "s"])["plugins"]?["alarm"]?["rings"] == ["a@2208996000"])
      _ = try client.call("clock", ["set": "2040-01-03T00:00:00Z"])
      #expect(try client.call("state", ["subject": "log"])["version"] == 1)
      #expect(try client.call("health")["timers"]?["away"] == [:])
    }

    @Test
    func `an id is remembered for 48 hours: within one write, over restarts, and after many other ids`() throws {
      let daemon = try RuledDaemon(rules: Self.rules, manualClock: true)
      var client = try daemon.client()
      let line = Load.event("1", "count", "s", "{}").line
      client.send(line + line + line)
      let replies = (0..<3).map { _ in client.line() ?? "" }
      #expect(replies[0].holds("\"duplicate\":false"))
      #expect(replies[1] == replies[2])
      #expect(replies[1].holds("\"duplicate\":true") && replies[1].holds("\"n\":1"))
      for number in 2...60 { try client.event("count", "s", with: ["id": .string("\(number)")]) }
      try client.event("count", "s", with: ["id": "1", "source": "another"])
      for signal in [SIGTERM, SIGKILL] {
        daemon.end(signal)
        try daemon.start()
        client = try daemon.client()
        for number in [1, 2, 30, 44, 60] {
          let outcome = try client.event("count", "s", with: ["id": .string("\(number)")])
          #expect(outcome["duplicate"] == true)
          #expect(outcome["decisions"]?["alarm"]?["n"] == .integer(Int64(number)))
          #expect(outcome["version"] == .integer(Int64(number)))
        }
      }
      #expect(try client.call("state", ["subject": "s"])["version"] == 61)
      _ = try client.call("clock", ["advance": "47h"])
      #expect(try client.event("count", "s", with: ["id": "7"])["duplicate"] == true)
      #expect(try client.event("count", "s", with: ["id": "60"])["duplicate"] == true)
      _ = try client.call("clock", ["advance": "2h"])
      #expect(try client.event("count", "s", with: ["id": "7"])["duplicate"] == false)
      #expect(try client.event("count", "s", with: ["id": "60"])["duplicate"] == false)
      #expect(try client.event("count", "s", with: ["id": "60"])["duplicate"] == true)
    }
  }
}
