import RuledCore
import Testing

@testable import RuledLua

/// A value at a plugin's file level is a constant, however a rule comes by it.
@Suite struct FreezingTests {
  /// Ways to write to something that outlives the event; each must raise.
  static let writes: [(before: String, run: String)] = [
    ("local t = {}", "t.x = 1"),
    ("local t = { 1, 2 }", "t[1] = 2"),
    ("local t = { 1, 2 }", "t[#t + 1] = 2"),
    ("local t = { 1, 2 }", "table.insert(t, 3)"),
    ("local t = { 1, 2 }", "table.remove(t)"),
    ("local t = { 2, 1 }", "table.sort(t)"),
    ("local t = { 1 }", "table.move({ 1, 2 }, 1, 2, 1, t)"),
    ("local t = {}", "rawset(t, 'x', 1)"),
    ("local t = {}", "setmetatable(t, {})"),
    ("local t = {}", "setmetatable(t, nil)"),
    ("local t = array {}", "t[1] = 1"),
    ("local t = array { 1 }", "table.insert(t, 1)"),
    ("local t = { a = { b = { c = {} } } }", "t.a.b.c.x = 1"),
    ("local k = {} local t = { [k] = 1 }", "for _, key in ipairs { k } do key.x = 1 end"),
    ("local t = { f = function() return { 1 } end, n = {} }", "t.f().x = 1 t.n.x = 1"),
    ("local function make() local kept = {} return function() return kept end end local get = make()", "get().x = 1"),
    ("local a = {} local b = { a = a } a.b = b", "a.b.a.b.x = 1"),
    ("local list = data 'list.json'", "list[1] = 1"),
    ("local list = data 'list.json'", "list[2].x = 1"),
    ("", "data('list.json')[2].x = 1"),
    ("local m = require 'module'", "m.x = 1"),
    ("local m = require 'module'", "m.inner.x = 1"),
    ("local m = require 'module'", "m.get().x = 1"),
    ("local m = require 'shared'", "m.x = 1"),
    ("", "require('nothing')"),
    ("", "settings.words = 1"),
    ("", "settings.list[1] = 1"),
    ("", "table.insert(settings.list, 1)"),
    ("", "event.data.a = 1"),
    ("", "event.data.deep.er.x = 1"),
    ("", "event.data.list[1] = 1"),
    ("", "table.insert(event.data.list, 1)"),
    ("", "event.tags = 1"),
    ("", "rawset(event.data, 'x', 1)"),
    ("", "peek('other').a.x = 1"),
    ("local C = {} C.__index = C", "C.x = 1"),
    ("local C = {} C.__index = C", "setmetatable({}, C).__index.x = 1"),
    ("local C = {} C.__index = C", "getmetatable(setmetatable({}, C)).x = 1"),
    ("local C = {} C.__index = C local o = setmetatable({}, C)", "o.x = 1"),
    ("local C = {} C.__index = C local o = setmetatable({}, C)", "getmetatable(o).x = 1"),
    ("local C = {} C.__index = C local o = setmetatable({}, C)", "setmetatable(o, {})"),
    ("local C = { __index = function(self) return self end } local o = setmetatable({}, C)", "o.any.x = 1"),
    (
      "local C = { __index = function(self) return self end } local o = setmetatable({}, setmetatable({ __index = C }, C))",
      "o.any.x = 1"
    ),
    (
      "local A = setmetatable({}, { __index = function(self) return self end }) local B = setmetatable({}, { __index = A })",
      "B.any.x = 1"
    ),
    ("local C = { __newindex = function(t, k, v) rawset(t, k, v) end } local o = setmetatable({}, C)", "o.x = 1"),
    ("local C = { __call = function(self) self.x = 1 end } local o = setmetatable({}, C)", "o()"),
    ("local C = { __len = function(self) self.x = 1 return 1 end } local o = setmetatable({}, C)", "local n = #o"),
    ("local C = { __pairs = function(self) self.x = 1 end } local o = setmetatable({}, C)", "for _ in pairs(o) do end"),
    ("local C = { __tostring = function(self) self.x = 1 return '' end } local o = setmetatable({}, C)", "tostring(o)"),
    (
      "local C = { __eq = function(a) a.x = 1 end } local o, p = setmetatable({}, C), setmetatable({}, C)",
      "local x = o == p"
    ),
    ("local C = { __concat = function(a) a.x = 1 end } local o = setmetatable({}, C)", "local x = o .. 'x'"),
    ("local C = { __close = function(a) a.x = 1 end } local o = setmetatable({}, C)", "local x <close> = o"),
    ("local E = setmetatable({}, { __index = _ENV }) local _ENV = E", "x = event.id"),
    ("_ENV = setmetatable({}, { __index = _ENV })", "x = event.id"),
    ("local E = setmetatable({}, { __index = _ENV }) local _ENV = E function helper() return 1 end", "helper = nil"),
  ]

  @Test(arguments: writes.indices)
  func `a value that outlives an event cannot be written`(_ index: Int) throws {
    let (before, run) = Self.writes[index]
    let bench = try Self.bench(run, before: before)
    let outcome = try bench.handle(
      #"{"data":{"a":1,"deep":{"er":{}},"list":[1,2]},"tags":"x"}"#)
    #expect(outcome.failure?.kind == .error, "\(before) | \(run)")
  }

  /// What must go on working on frozen tables.
  static let reads: [(before: String, run: String, result: String)] = [
    ("local t = { 3, 1, 2 }", "#t", "3"),
    ("local t = { 3, 1, 2 }", "table.concat(t, ',')", #""3,1,2""#),
    ("local t = { 3, 1, 2 }", "select('#', table.unpack(t))", "3"),
    ("local t = { 3, 1, 2 }", "#table.move(t, 1, 3, 1, {})", "3"),
    ("local t = { a = 1, b = { c = 2 } }", "t", #"{"a":1,"b":{"c":2}}"#),
    ("local t = { a = 1 }", "next(t)", #""a""#),
    ("local t = { 'x' }", "(function() for i, v in ipairs(t) do return v end end)()", #""x""#),
    ("local t = { x = { 'y' } }", "(function() for k, v in pairs(t) do return { k, v } end end)()", #"["x",["y"]]"#),
    ("local t = array {}", "t", "[]"),
    ("local t = { 1 }", "rawlen(t)", "1"),
    ("local t = { a = 1 }", "rawget(t, 'a')", "1"),
    ("local t = {}", "rawequal(t, t) and t == t", "true"),
    ("local t = {} local u = { [t] = 'k' }", "u[t]", #""k""#),
    ("local m = require 'module'", "m.get()", #"{"a":1}"#),
    (
      "local C = {} C.__index = C function C.new(x) return setmetatable({ x = x }, C) end function C:get() return self.x end",
      "C.new(5):get()", "5"
    ),
    ("local C = {} C.__index = C function C:set(x) self.x = x return self end", "setmetatable({}, C):set(6).x", "6"),
    (
      "local C = {} C.__index = C function C:get() return self.x end local o = setmetatable({ x = 7 }, C)", "o:get()",
      "7"
    ),
    (
      "local A = {} A.__index = A function A:f() return 'f' end local B = setmetatable({}, A) B.__index = B",
      "setmetatable({}, B):f()", #""f""#
    ),
    (
      "local A = {} A.__index = A function A:f() return 'f' end local B = setmetatable({}, A) B.__index = B local o = setmetatable({}, B)",
      "o:f()", #""f""#
    ),
    ("local C = { __call = function(self, x) return x + 1 end } local o = setmetatable({}, C)", "o(1)", "2"),
    ("local o = setmetatable({}, { __call = function(self, x) return x + 1 end })", "o(1)", "2"),
    ("local o = setmetatable({ a = 1 }, { __index = function(t, k) return k .. t.a end })", "o.k", #""k1""#),
    ("local o = setmetatable({}, { __len = function() return 9 end })", "#o", "9"),
    ("local o = setmetatable({}, { __tostring = function() return 'me' end })", "tostring(o)", #""me""#),
    (
      "local C = { __eq = function() return true end } local o, p = setmetatable({}, C), setmetatable({}, C)", "o == p",
      "true"
    ),
    (
      "local C = { __lt = function(a, b) return a.n < b.n end } local o, p = setmetatable({ n = 1 }, C), setmetatable({ n = 2 }, C)",
      "o < p", "true"
    ),
    ("local C = {} C.__index = C local o = setmetatable({}, C)", "getmetatable(o) == C", "true"),
    ("local C = {} C.__index = C", "getmetatable(setmetatable({}, C)) == C", "true"),
    ("local o = setmetatable({}, { __metatable = 'mine' })", "getmetatable(o)", #""mine""#),
    (
      "local o = setmetatable({}, { __pairs = function() return function(_, k) if not k then return 1, 2 end end end })",
      "(function() for k, v in pairs(o) do return v end end)()", "2"
    ),
  ]

  @Test(arguments: reads.indices)
  func `a frozen value reads as before`(_ index: Int) throws {
    let (before, run, result) = Self.reads[index]
    let bench = try Self.bench("local value = \(run) decide('value', value)", before: before)
    for _ in 1...2 {
      let outcome = try bench.handle()
      #expect(outcome.decisions["value"] == result, "\(before) | \(run): \(outcome.failure?.message ?? "")")
    }
  }

  static func bench(_ run: String, before: String) throws -> Bench {
    let bench = try Bench(
      Bench.rule(run, before: before),
      modules: ["module.lua": "local hidden = { a = 1 } return { inner = {}, get = function() return hidden end }"],
      library: ["shared.lua": "return {}"], data: ["list.json": #"[1,{"a":1}]"#])
    bench.host.states["other"] = #"{"a":{}}"#
    return bench
  }

  @Test func `ipairs sees of a frozen list what an index sees`() throws {
    let source = Bench.rule(
      """
      local seen = {}
      for i, v in ipairs(settings.list) do seen[#seen + 1] = i * v end
      for i, v in ipairs(event.data.list) do seen[#seen + 1] = v end
      for i, v in ipairs(object) do seen[#seen + 1] = v end
      for i, v in ipairs(mixed) do seen[#seen + 1] = v end
      for i, v in ipairs({ 7, 8, nil, 9 }) do seen[#seen + 1] = v end
      for i, v in step, list, from do seen[#seen + 1] = v end
      decide("seen", seen)
      """,
      before: """
        local object = setmetatable({ 1 }, { __index = function(_, i) if i < 4 then return i * 10 end end })
        local mixed = { 5, 6, name = "x" }
        local step, list, from = ipairs(settings.list)
        """)
    let bench = try Bench(source)
    let expected = "[1,4,9,4,5,1,20,30,5,6,7,8,1,2,3]"
    #expect(try bench.handle(#"{"data":{"list":[4,5]}}"#).decisions["seen"] == expected)
    #expect(try bench.handle(#"{"data":{"list":[4,5]}}"#, explain: true).decisions["seen"] == expected)
  }

  @Test func `a file that only reads its environment has no way to write it`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        local ok, why = pcall(writer.write)
        decide("why", (why:gsub("^[^ ]* ", "")))
        decide("unknown", { pcall(function() return unknown end) })
        decide("leaks", writer.leaked == nil)
        """, before: "local writer = require('writer')"),
      modules: ["writer.lua": "return { write = function() _ENV.leaked = 1 end, leaked = rawget(_ENV, 'leaked') }"])
    for _ in 1...2 {
      let decisions = try bench.handle().decisions
      #expect(decisions["why"]?.contains("assignment to global 'leaked'") == true)
      #expect(decisions["unknown"]?.contains("undeclared global 'unknown'") == true)
      #expect(decisions["leaks"] == "true")
    }
  }
}
