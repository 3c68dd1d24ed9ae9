import RuledCore
import RuledEngine
import RuledJSON
import RuledLua
import Testing

/// States that go from version to version, up with new rules and down with earlier ones.
@Suite struct StateMigrationTests {
  private static let one = """
    rule 'r' { on = 'x', run = function(_, state) state.n = (state.n or 0) + 1 end }
    query 'q' (function(state) return state end)
    """
  /// Its `up` fails for the state with n = 13.
  private static let two = """
    state { version = 2, total = 'integer', debt = 'integer' }
    migrate { [2] = {
      up = function(old)
        if old.n == 13 then error('unlucky') end
        old.total, old.n = old.n, nil
        old.debt = 0
        return old
      end,
      down = function(new) new.n, new.total, new.debt = new.total, nil, nil return new end } }
    rule 'r' { on = 'x', run = function(_, state) state.total = (state.total or 0) + 10 state.debt = 1 end }
    query 'q' (function(state) return state end)
    """
  private static let peeker = """
    rule 'p' { on = 'peek', run = function() decide('seen', peek('p')) end }
    """

  @Test func `an older state goes up with the first event, in its commit, and everybody sees it so before`() throws {
    let engine = try Engine(["p": Self.one, "peeker": Self.peeker])
    try engine.send("x")
    try engine.adopt(["p": Self.two, "peeker": Self.peeker])
    let migrated: JSONValue = ["total": 1, "debt": 0]
    #expect(try engine.state("p") == migrated)
    #expect(try engine.local.query("p.q", subject: "user:1", arguments: nil) == migrated)
    #expect(try engine.send("peek")["decisions"]?["peeker"]?["seen"] == migrated)
    let text = try #require(try engine.send("x", [:], to: "user:1", ["explain": true, "dryrun": true])["trace"])
    let entry = try #require(text.arrayValue?.first { $0["migration"] != nil })
    #expect(entry["migration"] == ["from": 1, "to": 2] && entry["plugin"] == "p")
    #expect(entry["writes"] == ["state.debt", "state.n", "state.total"])
    #expect(try engine.send("x")["failures"] == [])
    #expect(try engine.state("p") == ["total": 11, "debt": 1])
  }

  @Test func `a state goes down to rules of an earlier version, also to such without a declaration`() throws {
    let engine = try Engine(["p": Self.two, "peeker": Self.peeker])
    try engine.send("x")
    try engine.adopt(["p": Self.one, "peeker": Self.peeker])
    #expect(try engine.state("p") == ["n": 10])
    #expect(try engine.send("peek")["decisions"]?["peeker"]?["seen"] == ["n": 10])
    #expect(try engine.send("x")["failures"] == [])
    #expect(try engine.state("p") == ["n": 11])
    try engine.adopt(["p": Self.two, "peeker": Self.peeker])
    #expect(try engine.state("p") == ["total": 11, "debt": 0])
  }

  @Test func `a state that does not fit its own version is not said to go to another`() throws {
    let engine = try Engine(["p": Self.one])
    try engine.send("x")
    let catalog = try Engine(["p": "state { version = 1, n = 'string?' }"]).local.evaluator.catalog
    let trial = try StateTrial(catalog, on: engine.store, lua: LuaWorker())
    try trial.run { _ in }
    #expect(trial.results[0].reasons[0].message.hasPrefix("the state does not fit version 1: "), "\(trial.results)")
  }

  @Test func `a step that fails parks the event, and the stored state is shown with its version`() throws {
    let engine = try Engine(["p": Self.one, "peeker": Self.peeker])
    for _ in 0..<13 { try engine.send("x") }
    try engine.adopt(["p": Self.two, "peeker": Self.peeker])
    let shown: JSONValue = ["version": 1, "state": ["n": 13]]
    #expect(try engine.state("p") == shown)
    #expect(try engine.send("peek")["decisions"]?["peeker"]?["seen"] == shown)
    let failure = try #require(try engine.send("x")["failures"]?[0])
    #expect(failure["kind"] == "migration" && failure["line"] == 4 && failure["rule"]?.isNull == true, "\(failure)")
    #expect(failure["message"] == "the state can't go from version 1 to 2: unlucky")
    #expect(try engine.parked().count == 1)
    let error = #expect(throws: RequestError.self) {
      try engine.local.query("p.q", subject: "user:1", arguments: nil)
    }
    #expect(error?.code == .ruleFailed && error?.details.contains { $0.value == "migration" } == true)
  }

  @Test(arguments: [
    ("decide('k', 1)", "decide changes something"), ("emit('client', 't')", "emit changes something"),
    ("once('k')", "once changes something"), ("timer.set('t', 1, 'x')", "timer.set changes something"),
    ("count('c')", "count changes something"), ("forget()", "forget changes something"),
    ("raise('x')", "raise changes something"), ("send('a', 'x')", "send changes something"),
    ("peek('p')", "peek can't be called in a step"), ("uuid()", "uuid can't be called in a step"),
    ("return nil", "must return the state, not nil"), ("old.n = 'x'", "state.n must be an integer, not a string"),
    ("old.f = print_nothing", "state.f is a function"),
  ])
  func `a step gets the state alone and returns one that fits`(statement: String, message: String) throws {
    let engine = try Engine(["p": Self.one])
    try engine.send("x")
    let isReturn = statement.hasPrefix("return")
    try engine.adopt([
      "p": """
      local function print_nothing() end
      state { version = 2, n = 'integer' }
      migrate { [2] = { up = function(old) \(statement) \(isReturn ? "" : "return old") end } }
      rule 'r' { on = 'x', run = function() print_nothing() end }
      """
    ])
    let failure = try #require(try engine.send("x")["failures"]?[0])
    #expect(failure["kind"] == "migration" && failure["message"]?.stringValue?.contains(message) == true, "\(failure)")
  }

  @Test func `a step counts against the budget, with the rules after it`() throws {
    func rules(_ steps: Int, _ rule: Int) -> String {
      "state { version = 2, n = 'integer' } migrate { [2] = { up = function(old) for _ = 1, \(steps) do end return old end } }"
        + " rule 'r' { on = 'x', run = function() for _ = 1, \(rule) do end end }"
    }
    let budget = "budget = { instructions = 100000 }"
    for (steps, rule, kinds) in [
      (1000, 1000, []), (1_000_000, 0, ["instructions"]), (70000, 70000, ["instructions"]), (0, 70000, []),
    ] as [(Int, Int, [String])] {
      let engine = try Engine(["p": Self.one])
      try engine.send("x")
      try engine.adopt(["p": rules(steps, rule)], manifest: budget)
      #expect(try engine.send("x").failureKinds == kinds, "\(steps) \(rule)")
    }
  }

  @Test func `a given state has the declared version, or the one that it says`() throws {
    let engine = try Engine(["p": Self.two])
    try engine.local.give("user:1", version: 1, states: ["p": ["version": 1, "state": ["n": 5]]])
    #expect(try engine.state("p") == ["total": 5, "debt": 0])
    try engine.local.give("user:1", version: 1, states: ["p": ["total": 1, "debt": 2]])
    #expect(try engine.state("p") == ["total": 1, "debt": 2])
  }
}
