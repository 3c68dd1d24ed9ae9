import RuledCore
import Testing

@testable import RuledLua

/// Nothing goes from one event to the next but the state.
@Suite struct CarryOverTests {
  /// What can't be loaded, as it could carry a value over, and the line to blame; 0 when there is none.
  static let refused: [(before: String, run: String, line: Int)] = [
    ("local n = 0", "n = n + 1", 4),
    ("local n = 0 local function f()\nn = n + 1 end", "f()", 3),
    ("local n = 0", "local function g() return function()\n\nn = 1 end end g()()", 6),
    ("local function counter() local n = 0 return function() n = n + 1 return n end end local c = counter()", "c()", 2),
    ("local t = {} do local n = 0 function t.f() n = n + 1 end end", "t.f()", 2),
    ("local t = { deep = {} } do local n = 0 t.deep.f = function() n = n + 1 end end", "t.deep.f()", 2),
    (
      "local m do local n = 0 m = setmetatable({}, { __index = function() n = n + 1 return n end }) end",
      "local x = m.x", 2
    ),
    ("local k do local n = 0 k = { [function() n = n + 1 end] = true } end", "local x = k", 2),
    ("", "_ENV = { kept = event.id, decide = decide }", 4),
    ("local _ENV = setmetatable({}, { __index = _ENV })", "_ENV = { kept = event.id }", 4),
    ("local last for i = 1, 2 do local n = i last = function() n = n + 1 end end", "last()", 2),
    ("local m = require 'counter'", "m()", 1),
    ("local m = require 'unused'", "", 1),
    ("local c = coroutine.create(function() end)", "coroutine.resume(c)", 0),
    ("local c = coroutine.wrap(function() while true do coroutine.yield() end end)", "c()", 0),
    ("local c = coroutine.running()", "coroutine.status(c)", 0),
    ("local i = string.gmatch('a b c', '%a')", "i()", 0),
    ("local t = { i = string.gmatch('a b c', '%a') }", "t.i()", 0),
    ("local i = pairs({ 1, 2, 3 })", "i()", 0),
    ("local class = {} local o = setmetatable({}, class) class.__mode = 'k'", "local x = o", 0),
  ]

  @Test(arguments: refused.indices)
  func `code that could carry a value over is refused with its line`(_ index: Int) throws {
    let (before, run, line) = Self.refused[index]
    do {
      _ = try Bench(
        Bench.rule(run, before: before),
        modules: [
          "counter.lua": "local n = 0 return function() n = n + 1 return n end",
          "unused.lua": "local n = 0 return { f = function() n = n + 1 end }",
        ])
      Issue.record("it loads: \(before) | \(run)")
    } catch let error as LoadError {
      #expect(line == 0 || error.line == line, "\(error)")
      #expect(
        line == 0
          || error.file
            == (before.contains("counter'")
              ? "t/counter.lua" : before.contains("unused'") ? "t/unused.lua" : "t/plugin.lua")
      )
      #expect(!error.message.isEmpty)
    }
  }

  /// What assigns only what belongs to one call.
  @Test(arguments: [
    "local n = 0 n = n + 1 local function f() n = n + 1 end f()",
    "local function counter() local n = 0 return function() n = n + 1 return n end end local c = counter() c() decide('n', c())",
    "local c = coroutine.wrap(function() coroutine.yield(1) end) decide('n', c())",
    "for w in ('a b'):gmatch('%a') do decide(w, w) end",
    "local _ENV = { decide = decide } x = 1 decide('x', x)",
  ])
  func `a variable of one call may be assigned`(_ run: String) throws {
    let bench = try Bench(Bench.rule(run))
    let first = try bench.handle()
    #expect(first.failure == nil)
    #expect(try bench.handle() == first)
  }

  @Test func `a value of one event is not seen in the next`() throws {
    let bench = try Bench(
      Bench.rule("decide('seen', json.encode { event.data, event.a or 0, event.b or 0, event.id })"))
    let events = [
      (#"{"data":{"x":1,"y":[1]},"a":"1"}"#, #"[{"x":1,"y":[1]},"1",0,"1"]"#), (#"{"data":{}}"#, #"[{},0,0,"1"]"#),
      (#"{"data":[1,2],"b":true}"#, #"[[1,2],0,true,"1"]"#), (#"{"data":"text"}"#, #"["text",0,0,"1"]"#),
      ("{}", #"[{},0,0,"1"]"#),
      (#"{"data":{"z":{"n":null,"l":[null]}},"a":"2","b":3}"#, #"[{"z":{"l":[null]}},"2",3,"1"]"#),
      (#"{"data":null,"a":null}"#, #"[{},0,0,"1"]"#),
    ]
    for (first, expected) in events {
      for (second, next) in events {
        #expect(try bench.handle(first).decisions["seen"] == quoted(expected))
        #expect(try bench.handle(second).decisions["seen"] == quoted(next))
      }
    }
  }

  @Test func `frozen data in the state is a copy in the next event`() throws {
    let bench = try Bench(
      Bench.rule(
        """
        if state.kept then table.insert(state.kept.list, 9) state.kept.new = true end
        state.kept = state.kept or event.data
        state.settings = settings.list
        """))
    let first = try bench.handle(#"{"data":{"list":[1]}}"#)
    #expect(first.state == #"{"kept":{"list":[1]},"settings":[1,2,3]}"#)
    let second = try bench.handle(#"{"data":{"list":[7]}}"#, state: first.state ?? "")
    #expect(second.state == #"{"kept":{"list":[1,9],"new":true},"settings":[1,2,3]}"#)
  }

  @Test func `a failed event leaves nothing`() throws {
    let bench = try Bench(
      Bench.rule("state.x = event.data decide('x', event.ext or 'none') if event.data.fail then error('no') end"))
    #expect(try bench.handle(#"{"data":{"fail":true},"ext":"1"}"#).failure?.kind == .error)
    let next = try bench.handle(#"{"data":{}}"#)
    #expect(next.state == #"{"x":{}}"#)
    #expect(next.decisions == ["x": #""none""#])
    #expect(next.operations.count == 1)
  }

  @Test func `two plugins of one worker share nothing`() throws {
    let worker = LuaWorker()
    func makeVM(_ name: String, _ run: String) throws -> PluginVM {
      let file = SourceFile(path: "\(name)/plugin.lua", text: Array(Bench.rule(run, name: name).utf8))
      return try PluginVM(source: PluginSource(name: name, modules: [file]), worker: worker)
    }
    let first = try makeVM("a", "for k in pairs(_ENV) do state[k] = true end")
    let second = try makeVM("b", "string.x = 1")
    #expect(!first.isDead && !second.isDead)
    #expect(first.manifest.name == "a" && second.manifest.name == "b")
  }

  private func quoted(_ text: String) -> String {
    "\"" + text.replacing("\"", with: "\\\"") + "\""
  }
}
