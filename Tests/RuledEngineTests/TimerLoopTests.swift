import RuledCore
import RuledEngine
import RuledStore
import Testing

/// Timers that set timers: one a step for each plugin and subject, and named once they are a loop.
@Suite struct TimerLoopTests {
  private static let ticking = """
    rule 'tick' { on = { 'go', 'tick' }, run = function(e, s)
      timer.set('t', (e.data.at or now()) , 'tick', { at = e.data.at })
      s.ticks = (s.ticks or 0) + 1
      s.wait = timer.due('t') - now()
    end }
    """

  private func advance(_ engine: Engine, seconds: Int64) throws {
    try engine.local.advance(microseconds: seconds * Limits.second)
  }

  private func looping(_ engine: Engine) -> [String] {
    let context = engine.local.context
    return context.timerLoops.all(now: context.clock.now.microseconds, step: context.timerStep).map {
      "\($0.plugin)/\($0.rule): \($0.subjects)"
    }
  }

  @Test(arguments: [nil, 0, 1_735_689_600 - 3600, 1_735_689_600 + 1] as [Int64?])
  func `a timer that its own event sets at once, or for the past, fires once a second`(at: Int64?) throws {
    let engine = try Engine(["p": Self.ticking])
    try engine.send("go", ["at": at.map { .integer($0) } ?? .null])
    let start = try #require(try engine.state("p")?["ticks"]?.intValue)
    for seconds in Int64(1)...5 {
      try advance(engine, seconds: 1)
      #expect(try engine.state("p")?["ticks"]?.intValue == start + seconds)
      #expect(try engine.state("p")?["wait"] == 1.0)
    }
  }

  @Test func `a loop is named after 60 timers in a row, with its rule and its subjects, until it ends`() throws {
    let engine = try Engine(["p": Self.ticking + " rule 'stop' { on = 'stop', run = function() timer.cancel('t') end }"]
    )
    for subject in ["user:1", "user:2"] { try engine.send("go", to: subject) }
    try advance(engine, seconds: 58)
    #expect(looping(engine) == [])
    try advance(engine, seconds: 1)
    #expect(looping(engine) == ["p/tick: 2"])
    try engine.send("stop")
    try advance(engine, seconds: 30)
    #expect(looping(engine) == ["p/tick: 1"])
    try engine.send("stop", to: "user:2")
    try advance(engine, seconds: 30)
    #expect(looping(engine) == [])
  }

  @Test func `how long a loop has run is known after a restart`() throws {
    let first = try Engine(["p": Self.ticking])
    try first.send("go")
    try advance(first, seconds: 40)
    let second = try Engine(["p": Self.ticking], store: first.store, start: first.local.now)
    try advance(second, seconds: 19)
    #expect(looping(second) == ["p/tick: 1"])
  }

  @Test func `timers that are further apart are no loop, and are due when they are set for`() throws {
    let engine = try Engine([
      "p":
        "rule 't' { on = { 'go', 'tick' }, run = function(e, s) timer.set('t', now() + 1.5, 'tick') s.n = (s.n or 0) + 1 end }"
    ])
    try engine.send("go")
    try advance(engine, seconds: 150)
    #expect(try engine.state("p")?["n"] == 101)
    #expect(looping(engine) == [])
  }

  @Test func `the step is that of the configuration`() throws {
    var configuration = Configuration()
    configuration.limits.timerStep = 5 * Limits.second
    let engine = try Engine(["p": Self.ticking], configuration: configuration)
    try engine.send("go")
    try advance(engine, seconds: 20)
    #expect(try engine.state("p")?["ticks"] == 6)
  }

  @Test func `a timer is due at once if an event of a client, of a message or of another plugin's timer sets it`()
    throws
  {
    let engine = try Engine([
      "p": """
      rule 'go' { on = 'go', run = function() timer.set('a', now(), 'first') end }
      rule 'first' { on = 'first', run = function() send('user:2', 'told', {}) end }
      """,
      "q": """
      rule 'first' { on = 'first', run = function(e, s) timer.set('b', now(), 'second') end }
      rule 'told' { on = 'told', run = function(e, s) timer.set('c', now() + 0.5, 'second') end }
      rule 'second' { on = 'second', run = function(e, s) s.at = now() - 1735689600 end }
      """,
    ])
    try engine.send("go")
    #expect(try engine.state("q")?["at"] == 0.0)
    try engine.local.advance(microseconds: Limits.second / 2)
    #expect(try engine.state("q", of: "user:2")?["at"] == 0.5)
  }

  @Test func `a loop through messages ends as one of messages alone`() throws {
    let engine = try Engine([
      "p": """
      rule 'x' { on = 'x', run = function(e, s) s.n = (s.n or 0) + 1 send('user:1', 'm', {}) end }
      rule 'm' { on = 'm', run = function() timer.set('t', now(), 'x') end }
      """
    ])
    try engine.send("x")
    #expect(try engine.state("p")?["n"] == 16)
    #expect(try engine.stored(.parked).map { $0["failure"]?["kind"] } == ["cycle"])
  }

  @Test func `a loop of timers of two plugins takes a step after 32 of them, and is named then until it ends`() throws {
    let engine = try Engine([
      "p": """
      rule 'a' { on = 'a', run = function(e, s) s.n = (s.n or 0) + 1 timer.set('t', now(), 'b') end }
      rule 'stop' { on = 'stop', run = function() timer.cancel('t') end }
      """,
      "q": """
      rule 'b' { on = 'b', run = function(e, s) s.n = (s.n or 0) + 1 timer.set('t', now(), 'a') end }
      rule 'stop' { on = 'stop', run = function() timer.cancel('t') end }
      """,
    ])
    try engine.send("a")
    func events() throws -> Int64 {
      (try engine.state("p")?["n"]?.intValue ?? 0) + (try engine.state("q")?["n"]?.intValue ?? 0)
    }
    #expect(try events() == 33)
    #expect(looping(engine) == ["p/a: 1"])
    try advance(engine, seconds: 3)
    #expect(try events() == 4 * 33)
    #expect(looping(engine) == ["p/a: 1", "q/b: 1"])
    try engine.send("stop")
    try advance(engine, seconds: 30)
    #expect(looping(engine) == [])
  }

  @Test(arguments: [(0, 30), (1, 60)] as [(Int64, Int64)])
  func `a loop of timers of two plugins that takes steps is named after 60 of them, with both rules`(
    _ wait: Int64, _ seconds: Int64
  ) throws {
    let engine = try Engine([
      "p": "rule 'a' { on = 'a', run = function(e) timer.set('t', now() + \(wait), 'b') end }",
      "q": "rule 'b' { on = 'b', run = function(e) timer.set('t', now() + 1, 'a') end }",
    ])
    try engine.send("a")
    try advance(engine, seconds: seconds - 1)
    #expect(looping(engine) == [])
    try advance(engine, seconds: 2)
    #expect(looping(engine) == ["p/a: 1", "q/b: 1"])
  }

  @Test func `a timer that answers the loop of another plugin is no loop`() throws {
    let engine = try Engine([
      "p": Self.ticking,
      "q": "rule 'answer' { on = 'tick', run = function(e) timer.set('t', now() + 0.5, 'answered') end }",
    ])
    try engine.send("go")
    try advance(engine, seconds: 100)
    #expect(looping(engine) == ["p/tick: 1"])
  }

  @Test func `timers of two plugins that are further apart are no loop`() throws {
    let engine = try Engine([
      "p": "rule 'a' { on = 'a', run = function(e) timer.set('t', now() + 1.5, 'b') end }",
      "q": "rule 'b' { on = 'b', run = function(e) timer.set('t', now() + 1, 'a') end }",
    ])
    try engine.send("a")
    try advance(engine, seconds: 300)
    #expect(looping(engine) == [])
  }

  @Test func `a loop of timers and messages that takes steps is named`() throws {
    let engine = try Engine([
      "p": "rule 'm' { on = 'm', run = function() timer.set('t', now(), 'x') end }",
      "q": "rule 'x' { on = 'x', run = function() send('user:1', 'm', {}) end }",
    ])
    try engine.send("m")
    #expect(looping(engine) == ["p/m: 1"])
    #expect(try engine.stored(.parked).isEmpty)
  }

  @Test func `timers that follow at once share the messages that may follow, as messages do`() throws {
    let engine = try Engine([
      "p": "rule 'x' { on = 'x', run = function() for i = 1, 4 do timer.set('t' .. i, now(), 'y', {}) end end }",
      "q":
        "rule 'y' { on = 'y', run = function(e) for i = 1, 2 do timer.set(e.id .. i, now() + 0.5, 'z', {}) end end }",
    ])
    try engine.send("x")
    let timers = try engine.stored(.timer)
    #expect(timers.count == 8 && timers.allSatisfy { $0["may_send"] == 12_500 && $0["hops"] == 2 })
  }

  @Test func `timers that fan out are bounded for a subject, come ever later, and are named at once`() throws {
    let engine = try Engine([
      "p": """
      rule 'x' { on = { 'go', 'x' }, run = function(e) for i = 1, 50 do timer.set(e.id .. i, now(), 'x') end end }
      """
    ])
    try engine.send("go")
    #expect(looping(engine) == ["p/x: 1"])
    let timers = try engine.stored(.timer)
    #expect((Limits.timers - 50...Limits.timers).contains(timers.count))
    let dues = Dictionary(grouping: timers) { $0["due"]?.intValue ?? 0 }
    #expect(dues.count >= 9 && dues.values.allSatisfy { $0.count <= Limits.crowdedTimers + 50 })
    #expect(try engine.stored(.parked).allSatisfy { $0["failure"]?["kind"] == "value" })
  }

  @Test func `the timers of a subject with many are read once, and not again at each that fires`() throws {
    let store = CountingStore()
    let engine = try Engine(
      [
        "p": """
        rule 'set' { on = 'set', run = function(e) for i = e.data.first, e.data.last do timer.set('t' .. i, now() + i, 'due') end end }
        rule 'due' { on = 'due', run = function(e, s) s.n = (s.n or 0) + 1 end }
        """
      ], store: store)
    try engine.send("set", ["first": 1, "last": 1000])
    let before = store.scans.load(ordering: .relaxed)
    try advance(engine, seconds: 500)
    #expect(try engine.state("p")?["n"] == 500)
    let ofOneTimer = 2  // for the next one that is due
    #expect(store.scans.load(ordering: .relaxed) - before < 500 * ofOneTimer + 50)
    #expect(try engine.send("set", ["first": 1001, "last": 1501])["failures"]?[0]?["kind"] == "value")
    #expect(try engine.send("set", ["first": 1001, "last": 1500])["failures"] == [])
    #expect(try engine.stored(.timer).count == 1000)
  }

  @Test func `as many timers as may be can be replaced and exchanged, and leave room for other plugins and subjects`()
    throws
  {
    let engine = try Engine([
      "p": """
      rule 'set' { on = 'set', run = function(e)
        if e.data.cancel then timer.cancel(e.data.cancel) end
        for i = e.data.first, e.data.last do timer.set('t' .. i, now() + 60, 'due') end
      end }
      """, "q": "rule 'also' { on = 'also', run = function(e) timer.set('t', now() + 60, 'due') end }",
    ])
    let most = Int64(Limits.timers)
    func set(_ first: Int64, _ last: Int64, cancel: JSONValue = .null, to subject: String = "user:1") throws -> [String]
    {
      try engine.send("set", ["first": .integer(first), "last": .integer(last), "cancel": cancel], to: subject)
        .failureKinds
    }
    #expect(try set(1, most - 1) == [])
    #expect(try set(most, most + 1) == ["value"])
    #expect(try set(most, most) == [])
    #expect(try set(most + 1, most + 1) == ["value"])
    #expect(try set(1, most) == [])
    #expect(try set(most + 1, most + 1, cancel: "t1") == [])
    #expect(try set(1, 1, to: "user:2") == [])
    #expect(try engine.send("also").failureKinds == [])
    #expect(try engine.stored(.timer).count == Limits.timers + 2)
  }

  @Test func `a time more than ten years from now is refused, and one in the past never`() throws {
    let engine = try Engine([
      "p": "rule 's' { on = 's', run = function(e) timer.set('t', now() + e.data.years * 365.25 * 86400, 'due') end }"
    ])
    #expect(try engine.send("s", ["years": 10.1]).failureKinds == ["value"])
    for years in [10, -1, -50] as [Int64] {
      #expect(try engine.send("s", ["years": .integer(years)])["failures"] == [])
    }
  }
}
