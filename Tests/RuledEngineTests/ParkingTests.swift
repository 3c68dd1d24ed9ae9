import RuledCore
import RuledEngine
import Testing

@Suite struct ParkingTests {
  private static let failing = "rule 'r' { on = '*', run = function(e, s) s.n = (s.n or 0) + 1 error('no') end }"
  private static let working =
    "rule 'r' { on = '*', run = function(e, s) s.n = (s.n or 0) + 1 s.extra = e.extra s.from = e.from "
    + "s.k = e.data.k s.id = e.id end }"

  @Test func `a failure is part of the outcome, and the other parts stand`() throws {
    let engine = try Engine(["a": Self.failing, "b": Self.working])
    let outcome = try engine.send("x", ["k": 1])
    #expect(outcome.failureKinds == ["error"])
    #expect(outcome["failures"]?[0]?["plugin"] == "a")
    #expect(outcome["failures"]?[0]?["rule"] == "r")
    #expect(outcome["failures"]?[0]?["file"] == "a/plugin.lua")
    #expect(try engine.state("b")?["n"] == 1)
    #expect(try engine.state("a") == nil)
  }

  @Test func `a page of parked events ends once it has many bytes, and goes on behind the last one`() throws {
    let engine = try Engine(["a": Self.failing])
    for number in 1...3 { try engine.send("x", ["k": .integer(Int64(number))]) }
    var (after, pages): (String?, Int) = (nil, 0)
    repeat {
      let page = try StoreListing.parked(engine.local.context, plugin: nil, after: after, limit: 10, bytes: 1)
      #expect(page.parked.count == 1)
      (after, pages) = (page.next, pages + 1)
    } while after != nil
    #expect(pages == 3)
  }

  @Test func `a retry applies the event as it was sent, once`() throws {
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

  @Test func `what follows from values as deep as may be can be read, also where it is parked`() throws {
    let start = LocalEngine.start.microseconds / Limits.second
    let engine = try Engine([
      "a": """
      rule 'go' { on = 'go', run = function(e)
        local deep = {}
        for _ = 2, 64 do deep = { deep } end
        send('user:2', 'told', deep)
        timer.set('t', now() + 1, 'told', deep)
        emit('mail', 'told', deep)
        raise('told', deep)
      end }
      """,
      "b": """
      rule 'told' { on = 'told', run = function(e, s)
        if now() < \(start) + 60 then error('later') end
        s.n = (s.n or 0) + 1
      end }
      """,
    ])
    try engine.send("go")
    try engine.local.advance(microseconds: 100 * Limits.second)
    let parked = try engine.parked()
    #expect(parked.count == 3)
    for part in parked { _ = try engine.retry(part) }
    #expect(try engine.state("b")?["n"] == 2 && engine.state("b", of: "user:2")?["n"] == 1)
    #expect(try engine.stored(.effect).count == 1 && engine.local.context.damage.entries.listed.isEmpty)
  }

  @Test func `a retry that fails again stays parked and counts its tries`() throws {
    let engine = try Engine(["a": Self.failing])
    try engine.send("x", ["k": 1])
    let parked = try #require(try engine.parked().first)
    for _ in 0..<2 { _ = try engine.retry(parked) }
    #expect(try engine.parked() == [parked])
    #expect(try engine.stored(.parked).first?["tries"] == 3)
    #expect(try engine.state("a") == nil)
  }

  @Test func `an event that a retried plugin raises reaches the others, and the retried event does not`() throws {
    let raising = "rule 'r' { on = 'x', run = function() raise('y', { n = 1 }) end }"
    let engine = try Engine(["a": Self.failing, "b": Self.working])
    try engine.send("x")
    try engine.adopt(["a": raising, "b": Self.working])
    _ = try engine.retry(try #require(try engine.parked().first))
    #expect(try engine.state("b")?["n"] == 2)
  }

  @Test func `several events of one commit are retried in order`() throws {
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

  @Test func `a dropped part is gone`() throws {
    let engine = try Engine(["a": Self.failing])
    try engine.send("x")
    let parked = try #require(try engine.parked().first)
    #expect(try engine.local.evaluator.drop(parked))
    try engine.local.runUntilIdle()
    #expect(try engine.parked().isEmpty)
    #expect(try engine.local.evaluator.drop(parked) == false)
  }

  private static let looping =
    "rule 'r' { on = '*', run = function(e, s) while e.data.loop do end s.n = (s.n or 0) + 1 end }"

  /// What the failure of an event says, nil if it has none.
  private func failure(_ outcome: JSONValue) -> String? { outcome["failures"]?[0]?["message"]?.stringValue }

  @Test func `a subject whose events are stopped three times in a row is put off alone`() throws {
    let engine = try Engine(["a": Self.looping, "b": Self.working])
    let runtime = engine.local.evaluator.catalog.plugins[0].runtime
    for turn in 1...3 {
      if turn == 3 {
        #expect(try failure(engine.send("x")) == nil)
        for _ in 1...2 { #expect(try engine.send("x", ["loop": true]).failureKinds == ["instructions"]) }
      }
      #expect(runtime.putOff.isEmpty)
      #expect(try engine.send("x", ["loop": true]).failureKinds == ["instructions"])
    }
    #expect(runtime.putOff.map { String(decoding: $0.subject, as: UTF8.self) } == ["user:1"])
    let explained = try engine.send("x", [:], ["explain": true])
    #expect(failure(explained)?.contains("the plugin is put off for this subject") == true)
    let reason = explained["trace"]?.arrayValue?.first { $0["plugin"] == "a" }?["reason"]?.stringValue
    #expect(reason?.contains("is put off for this subject, for ") == true, "\(explained.text)")
    #expect(!runtime.isSuspended)
    #expect(try failure(engine.send("x", to: "user:2")) == nil)
    #expect(try engine.state("a", of: "user:2")?["n"] == 1)
    #expect(try engine.parked().count == 6)
  }

  @Test(arguments: [false, true])
  func `a retry that succeeds, or that of the whole plugin, ends that a subject is put off`(_ isWhole: Bool) throws {
    let engine = try Engine(["a": Self.looping])
    let runtime = engine.local.evaluator.catalog.plugins[0].runtime
    for _ in 1...3 { try engine.send("x", ["loop": true]) }
    #expect(try failure(engine.send("x"))?.contains("put off") == true)
    if isWhole { runtime.resume() } else { _ = try engine.retry(try #require(try engine.parked().last)) }
    #expect(runtime.putOff.isEmpty && !runtime.hasStopped)
    #expect(try failure(engine.send("x")) == nil)
  }

  @Test func `of the failures at one place a minute's log has one line, whatever the events hold`() throws {
    let lines = Lines()
    let rules = """
      rule 'fail' { on = 'x', run = function(event)
        if event.data.other then error('other') end
        error('at ' .. event.data.n)
      end }
      """
    let engine = try Engine(["p": rules], log: LimitedLog(lines) { 0 })
    for number in 1...100 { try engine.send("x", ["n": .integer(Int64(number))], to: "user:\(number)") }
    #expect(lines.all == ["a rule failed: at 1 at p/plugin.lua:3"])
    try engine.send("x", ["other": true])
    #expect(lines.all.count == 2 && lines.all[1].contains("other"), "\(lines.all)")
  }
}
