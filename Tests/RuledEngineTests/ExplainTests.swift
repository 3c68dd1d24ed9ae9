import RuledCore
import Testing

@Suite struct ExplainTests {
  private func trace(_ outcome: JSONValue, _ rule: String) -> JSONValue? {
    outcome["trace"]?.arrayValue?.first { $0["rule"]?.stringValue == rule }
  }

  @Test func `every rule that was considered says why it fired or not`() throws {
    let engine = try Engine([
      "a":
        "rule 'fires' { on = 'x', run = function(e, s) s.n = (s.n or 0) + e.data.by decide('n', s.n) emit('mail', 'm') end } "
        + "rule 'when' { on = 'x', when = function() return false end, run = function() end } "
        + "rule 'other' { on = { 'y', 'z.*' }, run = function() end } "
        + "rule 'shadowed' { on = 'x', run = function() decide('n', 0) end }"
    ])
    let outcome = try engine.send("x", ["by": 2], ["explain": true])
    #expect(outcome["trace"]?.arrayValue?.count == 3)
    #expect(trace(outcome, "fires")?["fired"] == true)
    #expect(trace(outcome, "when")?["fired"] == false)
    #expect(trace(outcome, "other") == nil && trace(outcome, "when")?["on"] == nil)
    #expect(trace(outcome, "fires")?["writes"]?.arrayValue?.isEmpty == false)
    #expect(trace(outcome, "shadowed")?.text.contains("fires") == true)
    #expect(try engine.state("a")?["n"] == 2)
  }

  @Test func `where no rule listens to an event, each says what it listens to`() throws {
    let engine = try Engine([
      "a": "rule 'one' { on = { 'y', 'z.*' }, run = function() raise('unheard') end }",
      "b": "rule 'two' { on = 'v', run = function() end }",
    ])
    let outcome = try engine.send("x", [:], ["explain": true])
    #expect(outcome["trace"]?.arrayValue?.count == 2)
    #expect(trace(outcome, "one")?["fired"] == false && trace(outcome, "one")?["on"] == ["y", "z.*"])
    #expect(trace(outcome, "one")?["reason"] == "listens to 'y', 'z.*', not to 'x'")
    #expect(try engine.send("y", [:], ["explain": true])["trace"]?.arrayValue?.count == 1)
  }

  @Test func `an if of thousands of branches, which takes Lua long to compile, is run without an explanation`() throws {
    let branches = { (0..<$0).map { "if e.data.a == \($0) then return false" }.joined(separator: " else") }
    for (count, isTold) in [(100, true), (6_000, false)] {
      let engine = try Engine([
        "a": "rule 'r' { on = 'x', when = function(e) \(branches(count)) end end, run = function() end }"
      ])
      let entry = trace(try engine.send("x", ["a": 7], ["explain": true]), "r")
      #expect(entry?["fired"] == false && (entry?["condition"] != nil) == isTold, "\(String(describing: entry))")
      #expect(entry?["reason"]?.stringValue?.contains("more is not told") == !isTold)
    }
  }

  @Test func `an explanation changes nothing of the outcome`() throws {
    let text =
      "rule 'r' { on = 'x', run = function(e, s) s.l = s.l or array {} s.l[#s.l + 1] = e.data.v "
      + "for k, v in pairs(e.data) do s[k] = v end decide('count', #s.l) if once('a') then raise('y') end end } "
      + "rule 'y' { on = 'y', run = function(e, s) s.y = next(s) end }"
    let plain = try Engine(["p": text])
    let explained = try Engine(["p": text])
    for step in 0..<5 {
      let data: JSONValue = ["v": .integer(Int64(step)), "nested": ["a": [1, 2, ["b": nil]]]]
      let one = try plain.send("x", data)
      var other = try explained.send("x", data, ["explain": true]).objectValue
      #expect(other?["trace"] != nil)
      other?["trace"] = nil
      #expect(one.objectValue == other)
    }
    #expect(try plain.state("p") == explained.state("p"))
  }

  /// The end of each leaves no metatable in the state, but for the last ones, which fail.
  @Test(arguments: [
    "decide('n', { getmetatable(s.m) == nil, getmetatable(s) == nil, getmetatable(s.l) == false })",
    "setmetatable(s.m, nil) decide('n', s.m.a)",
    "decide('n', select(2, pcall(setmetatable, s.l, {})))",
    "local m, c = s.m, s.m.c setmetatable(m, { __index = function(t, k) return { t == s.m, t == m, k } end }) "
      + "decide('n', { m.other, m == s.m, m.c == c, #m, s.m.c.d }) m.a = 2 m.b = { 1 } setmetatable(m, nil)",
    "local m = setmetatable(s.m, { __add = function(a, b) return a.a + b end, __call = function(t, n) return t.a * n end, "
      + "__len = function() return 7 end, __tostring = function() return 'm' end, __newindex = function(t, k, v) rawset(t, k, v * 2) end }) "
      + "m.new = 4 s.again = m decide('n', { m + 1, m(3), #m, tostring(m), m == s.again, rawget(m, 'new') }) "
      + "s.c = m.c s.c.d = 9 setmetatable(m, nil)",
    "setmetatable(s, { __index = { x = 1 } }) decide('n', { s.x, s.m.a }) s.y = s.m setmetatable(s, nil)",
    "local t = setmetatable({}, s.m) decide('n', getmetatable(t) == s.m) s.m.z = 1",
    "decide('n', { rawget(s, 'm') == s.m, rawlen(s.l), select(2, next(s)) == s.l }) rawset(s, 'again', s.m) s.again.a = 5 decide('m', s.again == s.m)",
    "decide('n', { array(s.l) == s.l, array(s.e) == s.e, getmetatable(s.e) == false })",
    "decide('n', { pcall(array, setmetatable(s.m, {})) }) setmetatable(s.m, nil)",
    "setmetatable(s.m, {}) decide('n', 1)", "setmetatable(s.m.c, { __index = s.m }) decide('n', s.m.c.a)",
    "setmetatable(s, {})",
  ])
  func `a rule sees the same of its state, and leaves the same, when it is explained`(text: String) throws {
    let rules =
      "rule 'begin' { on = 'begin', run = function(e, s) s.l = { 1, 2 } s.e = {} s.m = { a = 1, c = { d = 2 } } end } "
      + "rule 'r' { on = 'x', run = function(e, s) \(text) end }"
    let plain = try Engine(["p": rules])
    let explained = try Engine(["p": rules])
    for engine in [plain, explained] { try engine.send("begin") }
    for _ in 0..<2 {
      let one = try plain.send("x")
      var other = try explained.send("x", [:], ["explain": true]).objectValue
      other?["trace"] = nil
      #expect(one.objectValue == other)
      #expect(try plain.state("p") == explained.state("p"))
    }
  }

  @Test func `the function that records is out of reach of a 'when'`() throws {
    let engine = try Engine([
      "p": """
      local __part0 = function() error('reached') end
      rule 'local' { on = 'x', when = function(event)
        local __part = function() error('reached') end
        local __part1 = __part
        return event.data.n == 2 and __part1 ~= __part0
      end, run = function() end }
      rule 'global' { on = 'x', when = function(event)
        return pcall(function() return __part2 end) or event.data.n == 2
      end, run = function() end }
      """
    ])
    let outcome = try engine.send("x", ["n": 1], ["explain": true])
    #expect(outcome["failures"] == [])
    #expect(trace(outcome, "local")?["condition"]?["text"] == "event.data.n == 2", "\(outcome.text)")
    #expect(trace(outcome, "global")?["fired"] == false, "\(outcome.text)")
  }

  @Test func `a dry run may explain too`() throws {
    let engine = try Engine(["p": "rule 'r' { on = 'x', run = function(e, s) s.n = 1 end }"])
    let outcome = try engine.send("x", [:], ["explain": true, "dryrun": true])
    #expect(trace(outcome, "r")?["fired"] == true)
    #expect(try engine.state("p") == nil)
  }

  @Test func `a plugin that takes other sources says so`() throws {
    let engine = try Engine(
      ["p": "rule 'r' { on = 'x', run = function(e, s) s.n = 1 end }"], manifest: "sources = { 'boss/*' }")
    let outcome = try engine.send("x", [:], ["explain": true, "source": "other"])
    #expect(trace(outcome, "r")?["fired"] == false)
    #expect(trace(outcome, "r")?["reason"]?.stringValue?.contains("boss/*") == true)
    try engine.send("x", [:], ["source": "boss/a"])
    #expect(try engine.state("p")?["n"] == 1)
  }

  @Test func `the rules of a plugin stand together in their order`() throws {
    let engine = try Engine([
      "p": """
      rule 'one' { on = 'other', run = function() end }
      rule 'two' { on = 'x', run = function() raise('y', {}) end }
      rule 'three' { on = 'z.*', run = function() end }
      """,
      "q": """
      rule 'four' { on = 'x', run = function() error('no') end }
      rule 'five' { on = { 'x', 'y' }, run = function() end }
      """,
    ])
    let trace = try engine.send("x", [:], ["explain": true])["trace"]?.arrayValue ?? []
    let names = trace.compactMap { $0["rule"]?.stringValue }
    #expect(names == ["two", "four", "five"])
    #expect(trace.map { $0["fired"] } == [true, true, false])
  }

  @Test func `The fields that a rule reads have their values, and its messages, effects and timers are listed`() throws
  {
    let engine = try Engine([
      "p": """
      rule 'first' { on = 'x', run = function(_, s) s.n = 1 s.deep = { list = { 'a', 'b' } } end }
      rule 'closed' { on = 'y', when = function(_, s) return s.n == 2 end, run = function() end }
      rule 'says' { on = 'y', run = function(_, s)
        local seen = s.deep.list[2] .. tostring(s.none)
        send('user:2', 'hello') timer.set('t', 60, 'late') count('p.c', { a = 1 }) once('k') raise('z')
      end }
      rule 'heard' { on = 'z', run = function() decide('heard', true) end }
      """
    ])
    try engine.send("x")
    let outcome = try engine.send("y", [:], ["explain": true])
    #expect(trace(outcome, "closed")?["values"] == ["state.n": 1])
    let says = trace(outcome, "says")
    #expect(says?["event"] == "y" && trace(outcome, "heard")?["event"] == "z")
    #expect(says?["values"] == ["state.deep.list[2]": "b", "state.none": nil])
    #expect(says?["raised"] == ["z"])
    #expect(says?["sends"] == ["hello to user:2"])
    #expect(says?["timers"] == ["t: late at 1970-01-01T00:01:00.000Z"])
    #expect(says?["counts"] == [#"p.c {"a":"1"}"#])
    #expect(says?["once"] == ["k"])
  }

  @Test func `A rule that did not fire names the operand of its 'when' that was false, with its values`() throws {
    let engine = try Engine([
      "p": """
      local LIMIT, helpers = 3, { big = function(n) return n > 100 end }
      local CONSTANT <const> = 7
      rule 'and' { on = 'x', when = function(e, s) return e.data.a == 1 and (s.n or 0) >= LIMIT and missing.member end, run = function() end }
      rule 'calls' {
        on = 'x',
        when = function(event)
          return event.data.a -- a comment
            and (helpers.big(event.data.a) or event.data.b == 'no')
        end,
        run = function() end,
      }
      rule 'returns' { on = 'x', when = function(e) if not e.data.none then return false end return true end, run = function() end }
      rule 'constant' { on = 'x', when = function(e) return e.data.a == CONSTANT end, run = function() end }
      rule 'fires' { on = 'x', when = function(e) return e.data.a == 1 and e.data.b end, run = function(_, s) s.n = 2 decide('n', s.n) end }
      """
    ])
    try engine.send("x", ["a": 1, "b": "yes"])
    let outcome = try engine.send("x", ["a": 1, "b": "yes"], ["explain": true])
    #expect(outcome["failures"] == [])
    #expect(
      trace(outcome, "and")?["condition"] == [
        "text": "(s.n or 0) >= LIMIT", "file": "p/plugin.lua", "line": 3, "values": ["s.n": 2, "LIMIT": 3],
      ])
    let calls = trace(outcome, "calls")?["condition"]
    #expect(calls?["text"] == "(helpers.big(event.data.a) or event.data.b == 'no')")
    #expect(calls?["line"] == 8)
    #expect(calls?["values"] == ["helpers.big(event.data.a)": false, "event.data.b": "yes"])
    let returns = trace(outcome, "returns")?["condition"]
    #expect(returns?["text"] == "return false" && returns?["values"] == ["e.data.none": nil])
    let constant = trace(outcome, "constant")
    #expect(constant?["reason"] == "'when' was false" && constant?["condition"] == nil)
    #expect(trace(outcome, "fires")?["fired"] == true && trace(outcome, "fires")?["condition"] == nil)
  }

  @Test func `A 'when' is evaluated once, and what it does stays the same when it is explained`() throws {
    let text = """
      rule 'r' { on = 'x', when = function(e, s) s.tries = (s.tries or 0) + 1 return once('k') and math.random() > 0.5 end, run = function() end }
      rule 'fails' { on = 'y', when = function(e)
        return e.data.x
          .y.z end, run = function() end }
      """
    let plain = try Engine(["p": text])
    let explained = try Engine(["p": text])
    for _ in 0..<3 {
      try plain.send("x")
      try explained.send("x", [:], ["explain": true])
    }
    #expect(try explained.state("p") == plain.state("p"))
    #expect(try explained.state("p")?["tries"] == 3)
    let failed = try plain.send("y", ["x": 1])["failures"]
    #expect(try explained.send("y", ["x": 1], ["explain": true])["failures"] == failed)
    #expect(failed?[0]?["line"] == 4)
  }

  @Test func `Many rules of a file are explained, as far as the budget of an event allows`() throws {
    func rules(_ prefix: String, _ count: Int) -> String {
      (0..<count).map {
        "rule '\(prefix)\($0)' { on = 'x', when = function(e) return e.data.a == \($0) end, run = function() end }\n"
      }.joined()
    }
    // Each function is compiled with the lines before it.
    let engine = try Engine(["p": rules("r", 300), "q": String(repeating: "\n", count: 240_000) + rules("q", 150)])
    let outcome = try engine.send("x", ["a": -1], ["explain": true])
    #expect(outcome["failures"] == [])
    for number in 0..<300 {
      #expect(trace(outcome, "r\(number)")?["condition"]?["text"]?.stringValue == "e.data.a == \(number)")
      #expect(trace(outcome, "r\(number)")?["condition"]?["line"]?.intValue == Int64(number + 1))
    }
    #expect(trace(outcome, "q0")?["condition"]?["text"] == "e.data.a == 0")
    let last = trace(outcome, "q149")
    #expect(last?["reason"]?.text.contains("the explanation is too long") == true && last?["condition"] == nil)
  }

  @Test func `Values can be left out`() throws {
    let engine = try Engine([
      "p": "rule 'r' { on = 'x', when = function(e, s) return s.secret == 'b' end, run = function() end } "
        + "rule 's' { on = 'x', run = function(e, s) s.secret = 'topsecret' end }"
    ])
    try engine.send("x")
    let outcome = try engine.send("x", [:], ["explain": "without_values"])
    #expect(trace(outcome, "r")?["condition"]?["text"] == "s.secret == 'b'")
    #expect(trace(outcome, "r")?["reads"] == ["state.secret"])
    #expect(outcome["trace"]?.text.contains("topsecret") == false)
  }

  @Test func `A raised event names the rule that raised it, and messages and timers are named before they happen`()
    throws
  {
    let rules: KeyValuePairs = [
      "p": """
      rule 'say' { on = 'x', run = function(e, s)
        local old = s.old send('user:2', 'hello', { n = 1 }) raise('y', {}) timer.set('t', now() + 60, 'late')
      end }
      rule 'own' { on = 'y', run = function() raise('z') end }
      """,
      "q": "rule 'heard' { on = { 'y', 'z' }, run = function() end } "
        + "rule 'hello' { on = { 'hello', 'late' }, run = function(e) decide('id', e.id) end }",
    ]
    let engine = try Engine(rules)
    let outcome = try engine.send("x", [:], ["explain": true, "id": "e"])
    let entries = outcome["trace"]?.arrayValue ?? []
    func cause(_ rule: String, _ type: String) -> JSONValue? {
      entries.first { $0["rule"]?.stringValue == rule && $0["event"]?.stringValue == type }?["cause"]
    }
    #expect(trace(outcome, "say")?["cause"] == nil)
    #expect(cause("own", "y") == ["plugin": "p", "rule": "say"])
    #expect(cause("heard", "y") == ["plugin": "p", "rule": "say"])
    #expect(cause("heard", "z") == ["plugin": "p", "rule": "own"])
    let follows = trace(outcome, "say")?["follows"]?.arrayValue ?? []
    #expect(follows.map { $0["kind"] } == ["message", "timer"])
    let plain = try Engine(rules)
    try plain.send("x", [:], ["id": "e"])
    for engine in [engine, plain] {
      try engine.local.advance(microseconds: 61_000_000)
      let ids = engine.local.changes.map { String(decoding: $0.members, as: UTF8.self) }
      for event in follows {
        #expect(ids.contains { $0.contains(event["id"]?.text ?? "?") }, "explained or not, the ids are the same")
      }
    }
  }
}
