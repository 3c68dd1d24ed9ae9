import RuledCore
import RuledEngine
import Testing

@Suite struct ParkingTests {
  private static let failing = "rule 'r' { on = '*', run = function(e, s) s.n = (s.n or 0) + 1 error('no') end }"
  private static let working =
    "rule 'r' { on = '*', run = function(e, s) s.n = (s.n or 0) + 1 s.extra = e.extra s.from = e.from "
    + "s.k = e.data.k s.id = e.id end }"

  @Test func aFailureIsTheOutcomesAndTheOthersStand() throws {
    let engine = try Engine(["a": Self.failing, "b": Self.working])
    let outcome = try engine.send("x", ["k": 1])
    #expect(outcome.failureKinds == ["error"])
    #expect(outcome["failures"]?[0]?["plugin"] == "a")
    #expect(outcome["failures"]?[0]?["rule"] == "r")
    #expect(outcome["failures"]?[0]?["file"] == "a/plugin.lua")
    #expect(try engine.state("b")?["n"] == 1)
    #expect(try engine.state("a") == nil)
  }

  @Test func aRetryAppliesTheEventAsItWasSentOnce() throws {
    let engine = try Engine(["a": Self.failing])
    try engine.send("x", ["k": 1], ["id": "7", "extra": "e", "from": "f"])
    try engine.adopt(["a": Self.working])
    let parked = try #require(try engine.parked().first)
    guard case .succeeded? = try engine.retry(parked) else {
      Issue.record("the retry failed")
      return
    }
    #expect(try engine.state("a") == ["n": 1, "extra": "e", "from": "f", "k": 1, "id": "7"])
    #expect(try engine.parked().isEmpty)
    #expect(try engine.retry(parked) == nil)
    #expect(try engine.local.version(of: "user:1") == 1)
  }

  @Test func aRetryThatFailsAgainStaysParkedAndCountsItsTries() throws {
    let engine = try Engine(["a": Self.failing])
    try engine.send("x", ["k": 1])
    let parked = try #require(try engine.parked().first)
    for _ in 0..<2 { _ = try engine.retry(parked) }
    #expect(try engine.parked() == [parked])
    #expect(try engine.stored(.parked).first?["tries"] == 3)
    #expect(try engine.state("a") == nil)
  }

  @Test func whatARetriedPluginRaisesReachesTheOthersButNotTheEventItself() throws {
    let raising = "rule 'r' { on = 'x', run = function() raise('y', { n = 1 }) end }"
    let engine = try Engine(["a": Self.failing, "b": Self.working])
    try engine.send("x")
    try engine.adopt(["a": raising, "b": Self.working])
    _ = try engine.retry(try #require(try engine.parked().first))
    #expect(try engine.state("b")?["n"] == 2)
  }

  @Test func severalEventsOfOneCommitAreRetriedInOrder() throws {
    let raiser = "rule 'r' { on = 'go', run = function() raise('x', { k = 1 }) raise('x', { k = 2 }) end }"
    let engine = try Engine(["a": raiser, "b": Self.failing])
    try engine.send("go", ["k": 0])
    try engine.adopt([
      "a": raiser,
      "b":
        "rule 'r' { on = '*', run = function(e, s) s.ks = s.ks or array {} s.ks[#s.ks + 1] = e.type .. e.data.k end }",
    ])
    _ = try engine.retry(try #require(try engine.parked().first))
    #expect(try engine.state("b")?["ks"] == ["go0", "x1", "x2"])
    #expect(try engine.parked().isEmpty)
  }

  @Test func aDroppedPartIsGone() throws {
    let engine = try Engine(["a": Self.failing])
    try engine.send("x")
    let parked = try #require(try engine.parked().first)
    #expect(try engine.local.evaluator.drop(parked))
    try engine.local.runUntilIdle()
    #expect(try engine.parked().isEmpty)
    #expect(try engine.local.evaluator.drop(parked) == false)
  }

  @Test func aPluginStoppedThreeTimesIsSuspendedAndItsEventsParked() throws {
    let engine = try Engine(["a": "rule 'r' { on = 'x', run = function() while true do end end }", "b": Self.working])
    for _ in 0..<3 { #expect(try engine.send("x").failureKinds == ["instructions"]) }
    #expect(engine.local.evaluator.catalog.plugins[0].runtime.isSuspended)
    let outcome = try engine.send("x")
    #expect(outcome["failures"]?[0]?["message"]?.stringValue?.contains("suspended") == true)
    #expect(try engine.parked().count == 4)
    #expect(try engine.state("b")?["n"] == 4)
  }
}
