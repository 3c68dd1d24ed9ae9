import RuledCore
import RuledEngine
import RuledStore
import Testing

/// Timers and messages of a plugin that is not in force wait, and happen once it is back.
@Suite struct AwayPluginTests {
  private static let setting =
    "rule 'set' { on = 'set', run = function(e) timer.set('t', now() + 10, 'due') end } "
    + "rule 'due' { on = 'due', run = function(e, s) s.fired = (s.fired or 0) + 1 s.at = now() - 1735689600 end }"
  private static let hearing = "rule 'due' { on = 'due', run = function(e, s) s.heard = (s.heard or 0) + 1 end }"

  @Test func `a timer that falls due while its plugin is away fires late, once, when it is back`() throws {
    let engine = try Engine(["o": Self.hearing, "p": Self.setting])
    try engine.send("set")
    try engine.adopt(["o": Self.hearing])
    try engine.local.advance(microseconds: 60 * Limits.second)
    #expect(try engine.state("o")?["heard"] == nil && engine.stored(.timer).count == 1)
    let again = try Engine(["o": Self.hearing], store: engine.store, start: engine.local.now)
    try again.local.advance(microseconds: 60 * Limits.second)
    #expect(try again.stored(.timer).count == 1)
    try again.adopt(["o": Self.hearing, "p": Self.setting])
    try again.local.runUntilIdle()
    #expect(try again.state("p")?["fired"] == 1 && again.state("p")?["at"] == 120.0 && again.state("o")?["heard"] == 1)
    try again.local.advance(microseconds: 60 * Limits.second)
    #expect(try again.state("p")?["fired"] == 1 && again.stored(.timerIndex).isEmpty)
  }

  @Test func `other timers do not wait for one whose plugin is away`() throws {
    let engine = try Engine(["o": Self.setting, "p": Self.setting])
    try engine.send("set")
    try engine.adopt(["o": Self.setting])
    try engine.local.advance(microseconds: 60 * Limits.second)
    #expect(try engine.state("o")?["fired"] == 1 && engine.stored(.timer).count == 1)
  }

  @Test func `a timer that is not yet due when its plugin is back fires in time`() throws {
    let engine = try Engine(["o": Self.hearing, "p": Self.setting])
    try engine.send("set")
    try engine.adopt(["o": Self.hearing])
    try engine.adopt(["o": Self.hearing, "p": Self.setting])
    try engine.local.advance(microseconds: 60 * Limits.second)
    #expect(try engine.state("p")?["at"] == 10.0)
  }

  @Test func `a retry leaves what a plugin that is away has parked as it is`() throws {
    let failing = "rule 'due' { on = 'due', run = function(e, s) error('no') end }"
    let engine = try Engine(["o": Self.hearing, "p": failing])
    try engine.send("due")
    try engine.adopt(["o": Self.hearing])
    let parked = try #require(try engine.parked().first)
    let before = try engine.stored(.parked)
    guard case .failed(let failure)? = try engine.retry(parked) else {
      Issue.record("the retry says nothing")
      return
    }
    #expect(failure.message == "there is no plugin 'p' any more")
    #expect(try engine.stored(.parked) == before && engine.state("o")?["heard"] == 1)
    try engine.adopt(["o": Self.hearing, "p": Self.hearing])
    guard case .succeeded? = try engine.retry(parked) else {
      Issue.record("the retry failed")
      return
    }
    #expect(try engine.state("p")?["heard"] == 1 && engine.state("o")?["heard"] == 1 && engine.parked().isEmpty)
  }

  @Test func `a query of a plugin that is not loaded says so`() throws {
    let engine = try Engine(["p": "query 'n' (function() return 1 end)"])
    let names = [
      ("q.n", "no plugin 'q' is loaded"), ("p.m", "there is no query 'p.m'; did you mean 'p.n'?"),
      (String(repeating: "x", count: 900_000), "longer than 256 bytes"),
    ]
    for (name, part) in names {
      let error = #expect(throws: RequestError.self) {
        try engine.local.evaluator.query(name, subject: nil, arguments: nil, into: ByteBuffer())
      }
      #expect(error?.code == .notFound && error?.message.contains(part) == true)
    }
  }
}
