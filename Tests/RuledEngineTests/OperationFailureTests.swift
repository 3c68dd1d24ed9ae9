import RuledCore
import RuledJSON
import Testing

/// An operation that can't be done, as is known once all rules have run, is a failure that names the rule and the line that asked for it.
@Suite struct OperationFailureTests {
  @Test(
    arguments: [
      ("count('p.n', {}, 1e308) count('p.n', {}, 1e308)", "value", "a counter would overflow"),
      ("count('p.n', {}, 1e308) return count('p.n', {}, 1e308)", "value", "a counter would overflow"),
      ("board.set('b', 1e308) board.add('b', 1e308)", "value", "board.add: the score on 'b' would not be finite"),
      ("for i = 1, 1001 do send('user:2', 'y') end", "value", "1002 messages"),
      ("for i = 1, 1001 do publish('t', 'y') end", "cycle", "1001 publications"),
      ("for i = 1, 1001 do timer.set('t' .. i, now() + 60, 'y') end", "value", "1001 timers"),
      ("for i = 1, 2 do decide('d' .. i, ('x'):rep(600000)) end", "value", "decisions and effects"),
      ("for i = 1, 1100 do raise('y') end", "cycle", "more than 1024 events"),
      ("coroutine.wrap(function() for i = 1, 2 do count('p.n', {}, 1e308) end end)()", "value", "a counter would"),
    ], [false, true])
  func `the call is named, whatever runs before and after it`(
    call: (statement: String, kind: String, message: String), isExplained: Bool
  ) throws {
    let engine = try Engine([
      "p": """

      local function ask(state)
        state.n = 1
        \(call.statement)
      end
      rule 'first' { on = 'x', priority = 1, run = function() count('p.n') decide('first', true) end }
      rule 'second' { on = 'x', run = function(_, state)
        ask(state)
        count('p.m')
      end }
      rule 'third' { on = 'x', run = function() send('user:3', 'y') decide('third', true) end }
      """
    ])
    let outcome = try engine.send("x", [:], to: "user:1", isExplained ? ["explain": true] : [:])
    let failure = try #require(outcome["failures"]?[0])
    #expect(failure["kind"]?.stringValue == call.kind)
    #expect(failure["message"]?.stringValue?.contains(call.message) == true, "\(failure)")
    #expect(failure["rule"] == "second", "\(failure)")
    #expect(failure["file"] == "p/plugin.lua")
    #expect(failure["line"] == 4, "\(failure)")
    #expect(try engine.state("p") == nil)
  }

  @Test(arguments: [
    "send('user:2', 'y', LIST)", "raise('y', LIST)", "publish('t', 'y', LIST)", "emit('mail', 'y', LIST)",
    "timer.set('t', now() + 60, 'y', LIST)", "timer.every('t', { seconds = 60 }, 'y', LIST)",
  ])
  func `what rules make has no more parts than an event of a client`(call: String) throws {
    let engine = try Engine([
      "p": """
      local function lists(n) local list = {} for i = 1, n do list[i] = {} end return { list } end
      rule 'r' { on = 'x', run = function(e) \(call.replacing("LIST", with: "lists(e.data.n)")) end }
      rule 'd' { on = 'd', run = function() decide('all', lists(30000)) end }
      """
    ])
    #expect(try engine.send("x", ["n": 9_998])["failures"] == [])
    let failure = try #require(try engine.send("x", ["n": 9_999])["failures"]?[0])
    #expect(failure["kind"] == "value" && failure["line"] == 2, "\(failure)")
    #expect(failure["message"]?.stringValue?.contains("has 10001 lists") == true, "\(failure)")
    #expect(try engine.send("d")["failures"] == [])
  }

  @Test(arguments: [false, true])
  func `plugins share the length of an outcome, and one that has no room left fails alone`(isExplained: Bool) throws {
    func plugin(_ bytes: Int) -> String {
      "rule 'r' { on = 'x', run = function(_, s) s.n = 1\n decide('d', ('x'):rep(\(bytes))) end }"
    }
    let engine = try Engine(["a": plugin(600_000), "b": plugin(500_000), "c": plugin(400_000)])
    let outcome = try engine.send("x", [:], isExplained ? ["explain": true] : [:])
    let failure = try #require(outcome["failures"]?[0])
    #expect(outcome["failures"]?.arrayValue?.count == 1 && failure["plugin"] == "b" && failure["kind"] == "value")
    #expect(failure["line"] == 2 && failure["message"]?.stringValue?.contains("of other plugins") == true, "\(failure)")
    #expect(outcome["decisions"]?["a"] != nil && outcome["decisions"]?["b"] == nil && outcome["decisions"]?["c"] != nil)
    #expect(try engine.state("b") == nil && engine.state("c") != nil)
  }

  @Test func `the ids of effects count towards the length of an outcome`() throws {
    let engine = try Engine([
      "p":
        "rule 'r' { on = 'x', run = function() for i = 1, 4000 do emit('mail', 'm', {}, { id = ('x'):rep(240) .. i }) end end }"
    ])
    #expect(try engine.send("x").failureKinds == ["value"])
  }

  @Test func `a message that is one too many in a chain has its rule and its line`() throws {
    let engine = try Engine([
      "p": """

      rule 'other' { on = 'hop', priority = 1, run = function() count('p.n') end }
      rule 'r' { on = 'hop', run = function()
        send('user:2', 'hop')
      end }
      """
    ])
    try engine.send("hop")
    let failure = try #require(try engine.stored(.parked).first?["failure"])
    #expect(failure["kind"] == "cycle" && failure["rule"] == "r" && failure["line"] == 4, "\(failure)")
  }

  @Test func `an operation of a rule on an event that another plugin raised is named`() throws {
    let engine = try Engine([
      "a": "rule 'go' { on = 'go', run = function() raise('y') end }",
      "b": """

      rule 'go' { on = 'go', run = function() count('b.n', {}, 1e308) end }
      rule 'y' { on = 'y', run = function()
        count('b.n', {}, 1e308)
      end }
      """,
    ])
    let failure = try #require(try engine.send("go")["failures"]?[0])
    #expect(failure["plugin"] == "b" && failure["rule"] == "y" && failure["line"] == 4, "\(failure)")
  }

  @Test func `a value in the state that the last call of a rule put there is blamed on that rule`() throws {
    let engine = try Engine([
      "p": """

      rule 'first' { on = 'x', run = function(_, state) return rawset(state, 'n', 1 / 0) end }
      rule 'second' { on = 'x', run = function() decide('second', true) end }
      """
    ])
    let failure = try #require(try engine.send("x")["failures"]?[0])
    #expect(failure["rule"] == "first" && failure["line"] == 2, "\(failure)")
  }
}
