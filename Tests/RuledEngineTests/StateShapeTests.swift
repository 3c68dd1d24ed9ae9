import RuledCore
import RuledEngine
import RuledJSON
import Testing

/// States with a declared shape: what fits, and which line a misfit is blamed on.
@Suite struct StateShapeTests {
  private static let shape = """
    state { version = 1, stamps = "array", debt = "integer?", tier = "string?", any = "any?",
      ["wallet?"] = { points = "integer", ["last?"] = { at = "number" } }, ["items?"] = { { price = "number" } } }

    """

  private func run(
    _ statement: String, shape: String = shape, explain: Bool = false
  ) throws -> (failure: JSONValue?, state: JSONValue?) {
    let engine = try Engine([
      "p": """
      \(shape)local function put(state, value) state.debt = value end
      rule 'before' { on = 'x', priority = 1, run = function(_, state) state.stamps = { 1 } end }
      rule 'put' { on = 'x', run = function(_, state)
        local n = 1
      \(statement)
      end }
      rule 'after' { on = 'x', run = function(_, state) state.more = 1 end }
      """
    ])
    let outcome = try engine.send("x", [:], to: "user:1", explain ? ["explain": true] : [:])
    return (outcome["failures"]?[0], try engine.state("p"))
  }

  @Test(arguments: [
    ("state.debt = 'a lot'", "state.debt must be an integer, not a string"),
    ("state.debt = 1.5", "state.debt must be an integer, not a number"),
    ("state.debt = -9223372036854775809", "state.debt must be an integer, not a number"),
    ("put(state, true)", "state.debt must be an integer, not a boolean"),
    ("state.debt = 'a' state.debt = 1 state.debt = {}", "state.debt must be an integer, not an object"),
    ("state.debt = 1 state.stamps = nil", "state.stamps is required"),
    ("state.stamps = json.null", "state.stamps is required"),
    ("state.stamps = { a = 1 }", "state.stamps must be an array, not an object"),
    ("state.stamps = array {} state.stamps.x = 1", "state.stamps is an array with a key that is not one of 1 to n"),
    ("state.wallet = { point = 1 }", "state.wallet.points is required"),
    ("state.wallet = array {}", "state.wallet must be an object, not an array"),
    ("state.wallet = { points = 1, last = { at = 'x' } }", "state.wallet.last.at must be a number, not a string"),
    ("state.items = { { price = 1 }, { price = 'x' } }", "state.items[2].price must be a number, not a string"),
    ("state.items = { json.null }", "state.items[1] must be an object, not null"),
    ("state.items = {} table.insert(state.items, json.null)", "state.items[1] must be an object, not null"),
    ("table.insert(state.stamps, 2) state.items = { 1 }", "state.items[1] must be an object, not an integer"),
  ])
  func `a misfit names path, rule and the line of the assignment`(statement: String, message: String) throws {
    for explain in [false, true] {
      let failure = try #require(try run(statement, explain: explain).failure, "\(statement)")
      #expect(failure["kind"] == "state" && failure["message"]?.stringValue?.hasPrefix(message) == true, "\(failure)")
      #expect(failure["rule"] == "put" && failure["file"] == "p/plugin.lua", "\(failure)")
      #expect(failure["line"] == .integer(statement.hasPrefix("put") ? 3 : 7), "\(failure)")
    }
  }

  @Test func `members that fit, and others, are stored as they are, an empty table as the array that it is declared`()
    throws
  {
    let found = try run(
      """
      state.stamps = {}; state.debt = 3.0; state.any = { 1 }; state.other = { x = 1 }; state.tier = json.null
      state.wallet = { points = 1, more = 2 }
      """)
    #expect(found.failure == nil, "\(found)")
    #expect(
      found.state == [
        "stamps": [], "debt": 3.0, "any": [1], "other": ["x": 1], "tier": nil, "wallet": ["points": 1, "more": 2],
        "more": 1,
      ])
  }

  @Test func `an empty table is stored as declared wherever it comes from, and the next event finds it so`() throws {
    let engine = try Engine([
      "p": """
      state { version = 1, list = 'array', data = 'array', map = 'object', deep = { { list = { 'string' } } } }
      local none = {}
      rule 'set' { on = 'set', run = function(event, state)
        local both = {}
        state.list, state.map = both, both
        if event.data.constant then state.list = none end
        state.data, state.deep = event.data.empty, event.data.deep
      end }
      rule 'see' { on = 'see', run = function(_, state) decide('data', json.encode(state.data)) end }
      rule 'none' { on = 'see', run = function() decide('none', none) end }
      """
    ])
    let stored: JSONValue = ["list": [], "data": [], "map": [:], "deep": [["list": []]]]
    for constant in [false, true] {
      try engine.send("set", ["empty": [:], "deep": [["list": [:]]], "constant": .bool(constant)])
      #expect(try engine.state("p") == stored)
      let seen = try engine.send("see")
      #expect(seen["decisions"]?["p"] == ["data": "[]", "none": [:]], "\(seen.text)")
      #expect(try engine.state("p") == stored)
    }
  }

  @Test func `a misfit that another plugin's event leads to has its line, too`() throws {
    let engine = try Engine([
      "a": "rule 'r' { on = 'x', run = function() raise('y') end }",
      "p": """
      state { version = 1, n = 'integer' }
      rule 'x' { on = 'x', run = function(_, state) state.n = 1 end }
      rule 'y' { on = 'y', run = function(_, state)
        state.n = 'one'
      end }
      """,
    ])
    let failure = try engine.send("x")["failures"]?[0]
    #expect(
      failure?["line"] == 4 && failure?["rule"] == "y" && failure?["kind"] == "state", "\(String(describing: failure))")
  }

  @Test func `an empty state fits, and forget leaves one`() throws {
    let engine = try Engine([
      "p": "state { version = 1, n = 'integer' } rule 'r' { on = 'x', run = function(e, state) state.n = 1 end } "
        + "rule 'f' { on = 'f', run = function() forget() end } rule 'n' { on = 'n', run = function() end }"
    ])
    for type in ["n", "x", "f", "n"] { #expect(try engine.send(type)["failures"] == []) }
    #expect(try engine.state("p") == nil)
  }

  @Test func `a closed state has its members alone, at each level that is described`() throws {
    let shape =
      "state { version = 1, closed = true, stamps = 'array', more = 'integer?', ['w?'] = { n = 'integer?' } }\n\n\n"
    #expect(try run("state.stamps[2] = { any = 1 } state.w = { n = 1 }", shape: shape).failure == nil)
    for (statement, member) in [("state.stmps = 1", "state.stmps"), ("state.w = { n = 1, m = 2 }", "state.w.m")] {
      let failure = try #require(try run(statement, shape: shape).failure)
      #expect(failure["message"]?.stringValue?.hasPrefix("\(member) is no member") == true, "\(failure)")
      #expect(failure["line"] == 8 && failure["rule"] == "put", "\(failure)")
    }
  }

  @Test func `a value that did not fit before the event has no line`() throws {
    let engine = try Engine(["p": "rule 'r' { on = 'x', run = function(_, state) state.n = 'a' end }"])
    try engine.send("x")
    try engine.adopt([
      "p": "state { version = 1, n = 'integer' } rule 'r' { on = 'x', run = function(_, state) state.m = 1 end }"
    ])
    let failure = try engine.send("x")["failures"]?[0]
    #expect(failure?["kind"] == "state" && failure?["line"]?.intValue == nil && failure?["rule"]?.isNull == true)
  }

  @Test(arguments: [
    ("state { n = 'integer' }", "'version' must be a whole number"),
    ("state { version = 0 }", "'version' must be a whole number"),
    ("state { version = 1, n = 'intger' }", "state.n: there is no type 'intger'; did you mean 'integer'?"),
    ("state { version = 1 } state { version = 1 }", "state is declared twice"),
    ("state { version = 2, n = 'integer' }", "there is no step to version 2"),
    ("state { version = 3 } migrate { [3] = { up = function(o) return o end } }", "there is no step to version 2"),
    ("migrate { [2] = { up = function(o) return o end } }", "the state's version is 1"),
    ("state { version = 2 } migrate { [2] = { down = function(o) return o end } }", "there is no step to version 2"),
    ("state { version = 2 } migrate { [2] = { upp = function() end } }", "a step has 'up' and 'down'"),
    ("state { version = 2 } migrate { function() end }", "takes steps by the version"),
    ("local n = 0 state { version = 2 } migrate { [2] = { up = function(o) n = 1 return o end } }", "file-level"),
  ])
  func `a wrong declaration does not load`(declaration: String, message: String) throws {
    let error = #expect(throws: ReloadError.self) { _ = try Engine(["p": declaration]) }
    #expect(error?.errors.first?.message.contains(message) == true, "\(String(describing: error))")
    #expect(error?.errors.first?.line == 1)
  }
}
