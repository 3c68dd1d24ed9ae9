import RuledCore
import RuledEngine
import RuledStore
import Testing

@Suite struct TimerTests {
  private static let timers = """
    rule 'set' { on = 'set', run = function(e) timer.set(e.data.name, now() + e.data.seconds, 'due', { name = e.data.name }) end }
    rule 'cancel' { on = 'cancel', run = function(e) timer.cancel(e.data.name) end }
    rule 'due' { on = 'due', run = function(e, s)
      s.fired = s.fired or array {}
      s.fired[#s.fired + 1] = e.data.name .. '@' .. string.format('%d', now() - 1735689600)
    end }
    rule 'forget' { on = 'forget', run = function() forget() end }
    rule 'ask' { on = 'ask', run = function(e) decide('due', timer.due(e.data.name)) end }
    """

  private func engine() throws -> Engine { try Engine(["p": Self.timers]) }

  @Test func `timers fire in the order of their times and see it`() throws {
    let engine = try engine()
    for (name, seconds) in [("c", 30), ("a", 10), ("b", 20)] as [(String, Int64)] {
      try engine.send("set", ["name": .string(name), "seconds": .integer(seconds)])
    }
    try engine.local.advance(microseconds: 25 * Limits.second)
    #expect(try engine.state("p")?["fired"] == ["a@10", "b@20"])
    try engine.local.advance(microseconds: 1000 * Limits.second)
    #expect(try engine.state("p")?["fired"] == ["a@10", "b@20", "c@30"])
    #expect(try engine.stored(.timer).isEmpty && engine.stored(.timerIndex).isEmpty)
  }

  @Test func `a timer set anew fires only at the new time and a cancelled one never does`() throws {
    let engine = try engine()
    try engine.send("set", ["name": "a", "seconds": 10])
    try engine.send("set", ["name": "a", "seconds": 50])
    try engine.send("set", ["name": "b", "seconds": 20])
    #expect(try engine.send("ask", ["name": "a"])["decisions"]?["p"]?["due"] == 1_735_689_650.0)
    try engine.send("cancel", ["name": "b"])
    #expect(try engine.send("ask", ["name": "b"])["decisions"]?["p"]?["due"] == .null)
    try engine.local.advance(microseconds: 100 * Limits.second)
    #expect(try engine.state("p")?["fired"] == ["a@50"])
  }

  @Test func `a timer that came due while nothing ran fires once with the present time`() throws {
    let first = try engine()
    try first.send("set", ["name": "a", "seconds": 10])
    let later = Timestamp(microseconds: LocalEngine.start.microseconds + 500 * Limits.second)
    let second = try Engine(["p": Self.timers], store: first.store, start: later)
    try second.local.runUntilIdle()
    #expect(try second.state("p")?["fired"] == ["a@500"])
    let third = try Engine(["p": Self.timers], store: first.store, start: later)
    try third.local.runUntilIdle()
    #expect(try third.state("p")?["fired"] == ["a@500"])
  }

  @Test func `forgetting deletes timers`() throws {
    let engine = try engine()
    try engine.send("set", ["name": "a", "seconds": 10])
    try engine.send("forget")
    #expect(try engine.stored(.timer).isEmpty && engine.stored(.timerIndex).isEmpty)
    try engine.local.advance(microseconds: 100 * Limits.second)
    #expect(try engine.state("p") == nil)
  }

  @Test func `a message of a timer's event is applied before the next timer`() throws {
    let engine = try Engine([
      "p":
        "rule 'go' { on = 'go', run = function(e) timer.set('a', now() + 10, 'a') timer.set('b', now() + 10.5, 'b') end } "
        + "rule 'a' { on = 'a', run = function(e) send('user:2', 'm', { at = now() }) end } "
        + "rule 'b' { on = 'b', run = function(e) send('user:2', 'm', { at = now() }) end } "
        + "rule 'm' { on = 'm', run = function(e, s) s.at = s.at or array {} s.at[#s.at + 1] = now() - e.data.at end }"
    ])
    try engine.send("go")
    try engine.local.advance(microseconds: 60 * Limits.second)
    #expect(try engine.state("p", of: "user:2")?["at"] == [0.0, 0.0])
  }
}
