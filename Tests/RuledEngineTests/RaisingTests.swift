import RuledCore
import Testing

@Suite struct RaisingTests {
  private static func noting(_ name: String, on type: String, _ more: String = "") -> String {
    """
    rule '\(name)' { on = '\(type)', run = function(e, s)
      s.seen = s.seen or array {}
      s.seen[#s.seen + 1] = '\(name)'
      \(more)
    end }

    """
  }

  @Test func `the plugin's own rules see a raised event after the current rule`() throws {
    let engine = try Engine([
      "p": Self.noting("first", on: "a", "raise('b') s.seen[#s.seen + 1] = 'first ends'")
        + Self.noting("second", on: "a")
        + Self.noting("inner", on: "b")
    ])
    try engine.send("a")
    #expect(try engine.state("p")?["seen"] == ["first", "first ends", "inner", "second"])
  }

  @Test func `the others see it once the plugin is done, in the order raised`() throws {
    let engine = try Engine([
      "a": "rule 'r' { on = 'go', run = function() raise('x', { n = 1 }) raise('x', { n = 2 }) end }",
      "b": "rule 'r' { on = { 'go', 'x' }, run = function(e, s) s.seen = s.seen or array {} "
        + "s.seen[#s.seen + 1] = e.type .. (e.data.n or '') end }",
      "c": "rule 'r' { on = 'go', run = function() raise('x', { n = 3 }) end }",
    ])
    try engine.send("go")
    #expect(try engine.state("b")?["seen"] == ["go", "x1", "x2", "x3"])
  }

  @Test func `effects and decisions of raised events stand in the same reply`() throws {
    let engine = try Engine([
      "a": "rule 'r' { on = 'go', run = function() raise('x') end }",
      "b": "rule 'r' { on = 'x', run = function(e) decide('type', e.type) emit('mail', 'm', {}) end }",
    ])
    let outcome = try engine.send("go")
    #expect(outcome["decisions"]?["b"]?["type"] == "x")
    #expect(outcome["effects"]?.arrayValue?.count == 1)
    #expect(outcome["version"] == 1)
  }

  @Test func `32 raises deep are allowed, and one more is a cycle with its chain`() throws {
    let text =
      "rule 'r' { on = 'a', run = function(e, s) s.n = (s.n or 0) + 1 if s.n <= settings.n then raise('a') end end }"
    let deep = try Engine(["p": text], manifest: "settings = { n = 32 }")
    #expect(try deep.send("a").failureKinds == [])
    #expect(try deep.state("p")?["n"] == 33)
    let tooDeep = try Engine(["p": text], manifest: "settings = { n = 33 }")
    let outcome = try tooDeep.send("a")
    #expect(outcome.failureKinds == ["cycle"])
    #expect(outcome["failures"]?[0]?["message"]?.stringValue?.contains("a > a > a") == true)
    #expect(try tooDeep.state("p") == nil)
  }

  @Test func `a cycle through two plugins is found and nothing of it stays`() throws {
    let engine = try Engine([
      "a": "rule 'r' { on = { 'go', 'pong' }, run = function(e, s) s.n = (s.n or 0) + 1 raise('ping') end }",
      "b": "rule 'r' { on = 'ping', run = function(e, s) s.n = (s.n or 0) + 1 raise('pong') end }",
    ])
    let outcome = try engine.send("go")
    #expect(outcome.failureKinds == ["cycle"])
    #expect(outcome["failures"]?[0]?["message"]?.stringValue?.contains("go > ping > pong") == true)
    let failed = outcome["failures"]?[0]?["plugin"]?.stringValue ?? ""
    #expect(try engine.state(failed) == nil)
  }

  @Test func `a plugin that fails on a raised event is rolled back for the whole commit, and parked with all it saw`()
    throws
  {
    let engine = try Engine([
      "a": "rule 'r' { on = 'go', run = function(e, s) s.done = true raise('x', { n = 7 }) end }",
      "b": "rule 'go' { on = 'go', run = function(e, s) s.went = true decide('went', true) end } "
        + "rule 'x' { on = 'x', run = function() error('no') end }",
    ])
    let outcome = try engine.send("go", ["k": 1])
    #expect(outcome["decisions"]?["b"] == nil)
    #expect(try engine.state("b") == nil)
    #expect(try engine.state("a")?["done"] == true)
    let parked = try engine.stored(.parked)
    #expect(parked.count == 1)
    #expect(parked.first?["events"]?.arrayValue?.map { $0["type"] } == ["go", "x"])
    #expect(parked.first?["events"]?[0]?["data"] == ["k": 1])
    #expect(parked.first?["events"]?[1]?["data"] == ["n": 7])
  }

  /// A field of an event is made when it is needed, of a text that the next raised event replaces.
  @Test(arguments: ["", "rule 'own' { on = 'x', run = function(e, s) s.own = e end }"])
  func `an event that a rule keeps in the state is whole, also where the plugin sees what it raises`(own: String) throws
  {
    let keeping = "run = function(e, s) s[e.type] = e raise('x', { n = 3 }) end } " + own
    let engine = try Engine([
      "a": "rule 'r' { on = 'go', run = function() raise('told', { n = 2 }) end }",
      "b": "rule 'keep' { on = { 'go', 'told' }, " + keeping,
      "c": "rule 'keep' { on = 'told', " + keeping,
    ])
    try engine.send("go", ["n": 1])
    let b = try engine.state("b"), c = try engine.state("c")
    #expect(b?["go"]?["data"] == ["n": 1] && b?["go"]?["type"] == "go" && b?["go"]?["subject"] == "user:1")
    #expect(b?["told"]?["data"] == ["n": 2] && c?["told"]?["data"] == ["n": 2] && c?["told"]?["type"] == "told")
    if !own.isEmpty { #expect(b?["own"]?["data"] == ["n": 3] && c?["own"]?["type"] == "x") }
  }

  /// A thousand raised events of some milliseconds each would hold up a worker for seconds, of 50 ms each beyond the watchdog.
  @Test func `raised events together have a bound of processor time for each plugin`() throws {
    let engine = try Engine([
      "a": "rule 'x' { on = 'x', run = function() for i = 1, 1000 do raise('y') end end }",
      "b": "rule 'y' { on = 'y', run = function(e, s) s.n = (s.n or 0) + 1 (('x'):rep(900)):find('^.-.-y') end }",
      "c": "rule 'y' { on = 'y', run = function(e, s) s.n = (s.n or 0) + 1 end }",
    ])
    let outcome = try engine.send("x")
    #expect(outcome["failures"]?[0]?["plugin"] == "b" && outcome.failureKinds == ["time"])
    #expect(outcome["failures"]?[0]?["message"]?.stringValue?.contains("raised") == true)
    #expect(try engine.state("b") == nil)
    #expect(try engine.state("c")?["n"] == 1_000)
  }
}
