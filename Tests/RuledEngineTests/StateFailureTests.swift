import RuledCore
import RuledEngine
import RuledJSON
import Testing

/// A value in the state that can't be stored is a failure that names the rule and the line that put it there.
@Suite struct StateFailureTests {
  private func failure(_ plugin: String, before: [JSONValue] = [], _ data: JSONValue = [:]) throws -> JSONValue {
    let engine = try Engine(["p": plugin])
    for data in before { #expect(try engine.send("x", data)["failures"] == []) }
    return try #require(try engine.send("x", data)["failures"]?[0])
  }

  @Test(arguments: [
    ("state.f = function() end", "state.f is a function, which can't be stored"),
    ("state.a = { b = { 0 / 0 } }", "state.a.b[1] is not a number (NaN), which can't be stored"),
    ("state.a = { b = {} } state.a.b[2] = 1 state.a.b.x = 1", "state.a.b mixes numbers and names as keys"),
    ("state.loop = { state }", "state.loop[1] contains itself"),
    ("rawset(state, 'n', 1 / 0)", "state.n is infinite, which can't be stored"),
    ("state[3] = true", "state mixes numbers and names as keys"),
    ("state.t = setmetatable({}, {})", "state.t has a metatable, which can't be stored"),
    ("state.s = '\\xff'", "state.s is a string that is not UTF-8"),
    ("state.t = { ['\\xff'] = 1 }", "state.t has a key that is not UTF-8"),
    ("state[{}] = 1", "state has a key that is neither a string nor a number"),
    (
      "local t = state for _ = 1, 64 do t.x = {} t = t.x end",
      "state" + String(repeating: ".x", count: 64) + " is nested deeper than 64"
    ),
    ("coroutine.wrap(function() state.f = print_nothing end)()", "state.f is a function, which can't be stored"),
  ])
  func `the assignment is named, whatever runs before and after it`(statement: String, message: String) throws {
    let plugin = """

      local function print_nothing() end
      local function put(state)
        \(statement)
      end
      rule 'first' { on = 'x', priority = 1, run = function(_, state) state.ok = { 1, 2 } end }
      rule 'second' { on = 'x', run = function(_, state)
        local n = 1
        put(state)
        print_nothing(n)
      end }
      rule 'third' { on = 'x', run = function(_, state) state.ok[3] = 3 end }
      """
    let failure = try failure(plugin)
    #expect(failure["kind"] == "state")
    #expect(failure["message"]?.stringValue?.hasPrefix(message) == true, "\(failure)")
    #expect(failure["rule"] == "second", "\(failure)")
    #expect(failure["file"] == "p/plugin.lua")
    #expect(failure["line"] == 4, "\(failure)")
  }

  @Test func `a rule on a raised event is named, too`() throws {
    let failure = try failure(
      """

      rule 'outer' { on = 'x', run = function(_, state) state.a = {} raise('y') end }
      rule 'inner' { on = 'y', run = function(_, state)
        state.a.f = tostring
      end }
      """)
    #expect(failure["rule"] == "inner" && failure["line"] == 4, "\(failure)")
  }

  @Test(arguments: [
    ("state.s = ('x'):rep(300000)", "; 's' has 292 KiB"),
    (
      "state.a, state['b,\":'], state.c = { [1] = 'x' }, { x = { ('x'):rep(200000) } }, ('x'):rep(100000)",
      "; 'b,\\\":' has 195 KiB"
    ),
    ("for i = 1, 300 do state['s' .. i] = ('x'):rep(1000) end", ""),
    ("for i = 1, 300 do state[i] = ('x'):rep(1000) end", ""),
  ])
  func `a state that is too large has no line, but the member that most of it is in`(statement: String, member: String)
    throws
  {
    let failure = try failure("rule 'r' { on = 'x', run = function(_, state) \(statement) end }")
    #expect(failure["kind"] == "state" && failure["line"]?.intValue == nil, "\(failure)")
    #expect(failure["message"]?.stringValue == "state is larger than 256 KiB\(member)")
  }

  @Test func `an event that fails so leaves nothing behind, and the next one is as before`() throws {
    let engine = try Engine([
      "p": """
      rule 'r' { on = 'x', run = function(event, state)
        state.n = (state.n or 0) + 1
        count('p.n')
        if event.data.bad then state.f = function() end end
      end }
      """
    ])
    try engine.send("x")
    #expect(try engine.send("x", ["bad": true])["failures"]?[0]?["line"] == 4)
    #expect(try engine.send("x")["failures"] == [])
    #expect(try engine.state("p") == ["n": 2])
  }
}
