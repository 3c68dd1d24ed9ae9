import RuledCore
import Testing

@testable import RuledLua

/// The same event on the same state gives the same outcome in every VM.
@Suite struct DeterminismTests {
  static let scripts = [
    "local t = {} for i = 1, 100 do t['k' .. (i * 7919) % 101] = i end local s = {} for k in pairs(t) do s[#s + 1] = k end decide('x', s)",
    "local t = { b = 1, a = 2, [2] = 1, [1.5] = 1, [-1] = 1, [true] = 1, [false] = 1 } local s = {} for k in pairs(t) do s[#s + 1] = tostring(k) end decide('x', s)",
    "local s = {} local k for _ = 1, 9 do k = next({ b = 1, a = 2, [10] = 3, [9] = 4 }, k) s[#s + 1] = k or 'end' end decide('x', s)",
    "decide('x', tostring({}) .. tostring(print_me) .. tostring(function() end) .. tostring(coroutine.create(function() end)))",
    "decide('x', string.format('%s %s %q', {}, function() end, 1.5))",
    "local s = {} for i = 1, 20 do s[i] = math.random(1000) end s[21] = math.random() s[22] = math.random(0) decide('x', s)",
    "local t = {} for i = 1, 300 do t[i] = { k = i % 3, i = i } end table.sort(t, function(a, b) return a.k < b.k end) decide('x', t)",
    "local t = {} for i = 1, 300 do t[i] = (i * 7919) % 1009 end table.sort(t) decide('x', t)",
    "decide('x', { uuid(), uuid(), emit('client', 'x'), emit('client', 'x', nil, { key = 'k' }) })",
    "decide('x', select(2, pcall(function() local x = nil + 1 end)))",
    "decide('x', select(2, pcall(error, setmetatable({}, { __tostring = function() return 'e' end })) ) and 1)",
    "local m = {} local t = setmetatable({}, m) m.__mode = 'k' for i = 1, 50000 do t[{}] = i end decide('x', rawlen(t) == 0)",
  ]

  @Test(arguments: scripts)
  func `the same event gives the same outcome`(_ script: String) throws {
    let bench = try Bench(Bench.rule(script.replacing("tostring(print_me)", with: "tostring(decide)")))
    let first = try bench.handle(seed: 7)
    #expect(first.failure == nil, "\(first.failure?.message ?? "")")
    for _ in 1...3 {
      #expect(try bench.handle(seed: 7) == first)
      #expect(
        try Bench(Bench.rule(script.replacing("tostring(print_me)", with: "tostring(decide)"))).handle(seed: 7) == first
      )
      _ = try bench.handle(seed: 8)
    }
  }

  @Test func `pairs visits numbers, then strings, then booleans, in order`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        local t = { [true] = 1, [false] = 1, b = 1, a = 1, ["ab"] = 1, [""] = 1, [3] = 1, [1] = 1, [2] = 1, [-1.5] = 1, [math.huge] = 1 }
        local s, n = {}, {}
        for k in pairs(t) do s[#s + 1] = tostring(k) end
        for k in next, t do n[#n + 1] = tostring(k) end
        decide("pairs", table.concat(s, " ")) decide("next", table.concat(n, " "))
        """))
    let outcome = try bench.handle()
    #expect(outcome.decisions["pairs"] == #""-1.5 1 2 3 inf  a ab b false true""#)
    #expect(outcome.decisions["next"] == outcome.decisions["pairs"])
  }

  @Test(arguments: ["pairs({ [{}] = 1 })", "next({ [print_me] = 1 })", "pairs({ [coroutine.running()] = 1 })"])
  func `keys without an order are refused`(_ call: String) throws {
    let outcome = try Bench(Bench.rule("\(call.replacing("print_me", with: "decide"))")).handle()
    #expect(outcome.failure?.kind == .error)
  }

  @Test func `changing a table while it is visited neither repeats nor stops`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        local t, seen = { a = 1, b = 2, c = 3 }, {}
        for k in pairs(t) do seen[#seen + 1] = k t[k] = nil t.c = nil t.z = 1 end
        decide("seen", seen)
        """))
    #expect(try bench.handle().decisions["seen"] == #"["a","b"]"#)
  }

  @Test func `the seed of the event decides random numbers`() throws {
    let bench = try Bench(Bench.rule("decide('x', { math.random(1 << 40), math.random(3, 5), math.random() })"))
    let one = try bench.handle(seed: 1), two = try bench.handle(seed: 2)
    #expect(one != two)
    #expect(try bench.handle(seed: 1) == one)
  }

  @Test func `explaining changes nothing but the notes`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        state.n = (state.n or 0) + 1
        state.list = state.list or array {}
        table.insert(state.list, { n = state.n })
        state.last = state.list[#state.list]
        for k, v in pairs(state) do if k == "old" then state.old = nil end end
        decide("x", state)
        """))
    let state = #"{"list":[{"n":1}],"n":1,"old":{"a":1}}"#
    let plain = try bench.handle(state: state), explained = try bench.handle(state: state, explain: true)
    #expect(plain.failure == nil && explained.failure == nil, "\(explained.failure?.message ?? "")")
    #expect(explained.state == plain.state)
    #expect(explained.decisions == plain.decisions)
    #expect(explained.operations.contains("read state.n"))
  }
}
