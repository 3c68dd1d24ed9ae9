import RuledCore
import RuledEngine
import RuledStore
import Testing

/// `timer.every`: set again by the commit that fires it.
@Suite struct RepeatingTimerTests {
  private static let repeating = """
    rule 'set' { on = 'set', run = function(e) timer.every('t', e.data.every, 'due', { k = 1 }) decide('due', timer.due('t')) end }
    rule 'due' { on = 'due', run = function(e, s)
      s.fired = s.fired or array {}
      s.fired[#s.fired + 1] = calendar.format(now()) .. ' ' .. calendar.format(e.time)
      s.next = timer.due('t') and calendar.format(timer.due('t'))
      if s.fails then error('no') end
    end }
    rule 'fail' { on = 'fail', run = function(e, s) s.fails = true end }
    rule 'stop' { on = 'stop', run = function(e, s) timer.cancel('t') end }
    rule 'replace' { on = 'replace', run = function(e, s) timer.set('t', now() + 5, 'due') end }
    """

  private func engine(at time: String, store: any StateStore = MemoryStore()) throws -> Engine {
    try Engine(["p": Self.repeating], store: store, start: try #require(Timestamp(rfc3339: time)))
  }

  private func fired(_ engine: Engine) throws -> [String] {
    (try engine.state("p")?["fired"]?.arrayValue ?? []).compactMap { $0.stringValue.map { String($0.prefix(16)) } }
  }

  private func pass(_ engine: Engine, until time: String) throws {
    try engine.local.set(try #require(Timestamp(rfc3339: time)))
  }

  @Test(
    arguments: [
      (["seconds": 21_600], ["2025-03-29T18:30", "2025-03-30T00:30", "2025-03-30T06:30"]),
      (
        ["daily": true, "at": "02:30", "zone": "Europe/Berlin"],
        ["2025-03-30T01:30", "2025-03-31T00:30", "2025-04-01T00:30"]
      ),
      (
        ["weekly": 1, "at": "09:00", "zone": "Europe/Berlin"],
        ["2025-03-31T07:00", "2025-04-07T07:00", "2025-04-14T07:00"]
      ),
      (["monthly": 31, "at": "00:00", "zone": "UTC"], ["2025-03-31T00:00", "2025-04-30T00:00", "2025-05-31T00:00"]),
    ] as [(JSONValue, [String])])
  func `it fires first at the next match, and again at each one, over clock changes`(every: JSONValue, times: [String])
    throws
  {
    let engine = try engine(at: "2025-03-29T12:30:00Z")
    let due = try engine.send("set", ["every": every])["decisions"]?["p"]?["due"]?.doubleValue
    #expect(due.map { String(Timestamp(seconds: $0).rfc3339.prefix(16)) } == times[0])
    try pass(engine, until: times[2] + ":00Z")
    #expect(try fired(engine) == times)
    #expect(try engine.stored(.timer).count == 1 && engine.stored(.timerIndex).count == 1)
  }

  @Test func `a missed timer fires once, late, and goes on in its grid`() throws {
    let first = try engine(at: "2025-01-01T00:00:00Z")
    try first.send("set", ["every": ["seconds": 3600]])
    let second = try engine(at: "2025-01-01T05:20:00Z", store: first.store)
    try second.local.runUntilIdle()
    #expect(try second.state("p")?["fired"] == ["2025-01-01T05:20:00.000Z 2025-01-01T01:00:00.000Z"])
    #expect(try second.state("p")?["next"] == "2025-01-01T06:00:00.000Z")
    try pass(second, until: "2025-01-01T07:00:00Z")
    #expect(try fired(second) == ["2025-01-01T05:20", "2025-01-01T06:00", "2025-01-01T07:00"])
  }

  @Test func `a failing rule does not end it, cancel does, and timer.set with its name replaces it`() throws {
    let engine = try engine(at: "2025-01-01T00:00:00Z")
    try engine.send("set", ["every": ["seconds": 10]])
    try engine.send("fail")
    try pass(engine, until: "2025-01-01T00:00:25Z")
    #expect(try engine.parked().count == 2 && engine.stored(.timer).first?["due"] == 1_735_689_630_000_000)
    try engine.send("stop")
    #expect(try engine.stored(.timer).isEmpty)
    try engine.send("set", ["every": ["seconds": 10]])
    try engine.send("replace")
    try pass(engine, until: "2025-01-01T01:00:00Z")
    #expect(try engine.stored(.timer).isEmpty && engine.parked().count == 3)
  }

  @Test func `one of a plugin that is away waits, fires once when it is back, and goes on`() throws {
    let engine = try engine(at: "2025-01-01T00:00:00Z")
    try engine.send("set", ["every": ["seconds": 3600]])
    try engine.adopt(["q": "rule 'r' { on = 'x', run = function() end }"])
    try pass(engine, until: "2025-01-02T00:30:00Z")
    try engine.adopt(["p": Self.repeating])
    try engine.local.runUntilIdle()
    #expect(try fired(engine) == ["2025-01-02T00:30"])
    try pass(engine, until: "2025-01-02T01:00:00Z")
    #expect(try fired(engine).last == "2025-01-02T01:00")
  }

  @Test func `its schedule stands in the store and in an export`() throws {
    let engine = try engine(at: "2025-01-01T00:00:00Z")
    try engine.send("set", ["every": ["at": "09:00", "zone": "Europe/Berlin", "weekly": 2.0]])
    let exported = try Array("user:1".utf8).withView { try engine.local.evaluator.export($0) }
    #expect(exported["timers"]?[0]?["every"] == ["at": "09:00", "zone": "Europe/Berlin", "weekly": 2])
    #expect(exported["timers"]?[0]?["due"] == "2025-01-07T08:00:00.000Z")
  }

  @Test(arguments: [
    "{}", "{ seconds = 0.5 }", "{ seconds = 4e8 }", "{ seconds = 5, zone = 'UTC' }", "{ seconds = 5, daily = true }",
    "{ daily = true, at = '9:00', zone = 'UTC' }", "{ daily = true, at = '09:00:00', zone = 'UTC' }",
    "{ daily = true, at = '09:00' }", "{ daily = false, at = '09:00', zone = 'UTC' }",
    "{ weekly = 0, at = '09:00', zone = 'UTC' }", "{ weekly = 1.5, at = '09:00', zone = 'UTC' }",
    "{ monthly = 32, at = '09:00', zone = 'UTC' }", "{ daily = true, at = '09:00', zone = 'Mars' }",
    "{ dayly = true, at = '09:00', zone = 'UTC' }", "5", "nil",
  ])
  func `another schedule is a failure`(_ schedule: String) throws {
    let engine = try Engine(["p": "rule 'r' { on = 'x', run = function() timer.every('t', \(schedule), 'due') end }"])
    #expect(try engine.send("x").failureKinds == ["value"])
  }

  @Test func `its events keep a step between them`() throws {
    var configuration = Configuration()
    configuration.limits.timerStep = 5 * Limits.second
    let engine = try Engine(["p": Self.repeating], configuration: configuration)
    try engine.send("set", ["every": ["seconds": 2]])
    try engine.local.advance(microseconds: 20 * Limits.second)
    #expect(
      try engine.state("p")?["fired"]?.arrayValue?.compactMap { $0.stringValue?.prefix(19).suffix(2) }
        == ["02", "08", "14", "20"])
  }
}
