import RuledCore
import Testing

@testable import RuledLua

/// Rules can't tell `ipairs` from Lua's own, also where it looks behind a frozen list.
@Suite struct ListStepTests {
  /// Expressions that are true, with `list` a frozen list of numbers, `rows` one of tables and `plain` a table of the event's.
  static let truths: [String] = [
    "(function() local sum = 0 for i, v in ipairs(list) do sum = sum + i * v end return sum end)() == 10 + 40 + 90",
    "(function() for i, v in ipairs(list) do if v == 20 then return i end end end)() == 2",
    "(function() local n = 0 for i, row in ipairs(rows) do n = n + #row.tags + i end return n end)() == 6",
    "(function() for i, row in ipairs(rows) do if not rawequal(row, rows[i]) then return false end end return true end)()",
    "(function() for i in ipairs(holes) do if i > 1 then return false end end return true end)()",
    "(function() for _ in ipairs({}) do return false end for _ in ipairs(none) do return false end return true end)()",
    "(function() local n = 0 for _, v in ipairs(plain) do n = n + v end return n end)() == 3",
    "(function() for i, v in ipairs(event.data.list) do if v ~= i then return false end end return true end)()",
    "(function() for _ in ipairs(event) do return false end return event.id == '1' end)()",
    "(function() local n = 0 for i, v in ipairs(derived) do n = n + v end return n end)() == 1 + 20 + 30",
    "(function() local n = 0 for i, v in ipairs(answering) do n = n * 10 + v if i == 4 then return n end end end)() == 1234",
    "(function() local n = 0 for i, v in ipairs(setmetatable({ 1 }, { __index = list })) do n = n + v end return n end)() == 51",
    "select('#', ipairs(list)) == 3",
    "type((ipairs(list))) == 'function' and ipairs(list) == ipairs(plain)",
    "(function() local step, t, i = ipairs(list) return rawequal(t, list) and i == 0 end)()",
    "(function() local step = ipairs(list) local i, v = step(plain, 0) return i == 1 and v == 1 end)()",
    "(function() local step = ipairs(plain) local i, v = step(list, '1') return i == 2 and v == 20 end)()",
    "(function() local step = ipairs(list) local i, v = step(list, 2.0) return math.type(i) == 'integer' and v == 30 end)()",
    "(function() local step = ipairs(list) return select('#', step(list, 3)) == 1 and step(list, 3) == nil end)()",
    "(function() local step = ipairs(list) return step(list, math.maxinteger) == nil end)()",
    "(function() local step = ipairs('') return step('abc', 0) == nil end)()",
    "kept(list, 0) == 1",
  ]

  /// What raises, and the message without its position.
  static let errors: [(code: String, message: String)] = [
    ("ipairs()", "bad argument #1 to 'ipairs' (table expected, got no value)"),
    ("error((select(2, pcall(ipairs))), 0)", "bad argument #1 to 'ipairs' (table expected, got no value)"),
    ("for _ in ipairs(nil) do end", "bad argument #1 to 'ipairs' (table expected, got nil)"),
    ("for _ in ipairs(5) do end", "bad argument #1 to 'ipairs' (table expected, got number)"),
    ("for _ in ipairs(plain.a.b or plain[3]) do end", "attempt to index a nil value (field 'a')"),
    (
      "for _ in ipairs(plain[3]) do end", "bad argument #1 to 'ipairs' (table expected, got nil: plain[3])"
    ),
    (
      "for _ in pairs(event.data.list) do end",
      "bad argument #1 to 'pairs' (table expected, got nil: event.data.list)"
    ),
    (
      "for _ in ipairs(list) do end for _ in ipairs(plain.a) do end",
      "bad argument #1 to 'ipairs' (table expected, got nil)"
    ),
    ("local step = ipairs(list) step(list, 'x')", "bad argument #2 to 'step' (number expected, got string)"),
    ("local step = ipairs(list) step(list, 1.5)", "bad argument #2 to 'step' (number has no integer representation)"),
    ("local step = ipairs(list) step(list)", "bad argument #2 to 'step' (number expected, got no value)"),
    (
      "for _, row in ipairs(rows) do row.x = 1 end",
      "attempt to change 'x' in a frozen table; copy what you want to change"
    ),
    (
      "for _, row in ipairs(rows) do row.tags[1] = 1 end",
      "attempt to change '1' in a frozen table; copy what you want to change"
    ),
    ("local _, t = ipairs(rows) t[1] = 1", "attempt to change '1' in a frozen table; copy what you want to change"),
    ("local step = ipairs(rows) local _, row = step(rows, 0) rawset(row, 'x', 1)", "attempt to change a frozen table"),
  ]

  static let before = """
    local list, rows, none = { 10, 20, 30 }, { { tags = { 1 } }, { tags = { 1, 2 } } }, {}
    local holes = { 1, nil, 3 }
    local derived = setmetatable({ 1 }, { __index = { 10, 20, 30 } })
    local answering = setmetatable({ 1, 2 }, { __index = function(_, i) return i end })
    local kept = ipairs({})
    """

  private func bench(_ code: String) throws -> Bench {
    try Bench(Bench.rule("local plain = { 1, 2 }\n" + code, before: Self.before))
  }

  @Test(arguments: truths) func `a truth holds for every random machine`(_ truth: String) throws {
    let outcome = try bench("decide('v', \(truth))").handle(#"{"data":{"list":[1,2,3]}}"#)
    #expect(outcome.decisions["v"] == "true", "\(truth): \(String(describing: outcome.failure))")
  }

  @Test(arguments: errors.indices) func `an error is Lua's own, or names what a loop should go over`(_ index: Int)
    throws
  {
    let (code, message) = Self.errors[index]
    #expect(try bench(code).handle().failure?.message == message, "\(code)")
  }

  @Test func `values that an explanation reads are noted`() throws {
    let bench = try Bench(Bench.rule("for _, v in ipairs(state.list) do decide('v' .. v, v) end"))
    let outcome = try bench.handle(state: #"{"list":[5,6]}"#, explain: true)
    #expect(outcome.decisions == ["v5": "5", "v6": "6"])
    for step in ["list", "list[1]", "list[2]", "list[3]"] { #expect(outcome.operations.contains("read state.\(step)")) }
  }

  @Test func `an endless list is stopped`() throws {
    let bench = try Bench(Bench.rule("for _ in ipairs(setmetatable({}, { __index = function() return 1 end })) do end"))
    #expect(try bench.handle().failure?.kind == .instructions)
  }
}
