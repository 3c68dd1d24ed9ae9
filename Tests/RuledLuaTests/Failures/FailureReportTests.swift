import RuledCore
import Testing

@testable import RuledLua

/// A failure says what went wrong and where.
@Suite struct FailureReportTests {
  /// What a rule does from line 4 on, and the failure's kind, file, line and a part of its message.
  static let failures: [(run: String, kind: Failure.Kind, line: Int?, message: String)] = [
    ("error('boom')", .error, 4, "boom"), ("\n\nerror('boom')", .error, 6, "boom"),
    ("error('boom', 0)", .error, 4, "boom"),
    ("local x = nil + 1", .error, 4, "arithmetic on a nil value"),
    ("local t = {}\nt.x.y = 1", .error, 5, "index a nil value (field 'x')"),
    ("undeclared_thing()", .error, 4, "undeclared global 'undeclared_thing'"),
    ("x = 1", .error, 4, "assignment to global 'x'"),
    ("error()", .error, 4, "nil"), ("error({ code = 1 })", .error, 4, "table"), ("error(42)", .error, 4, "42"),
    ("error('')", .error, 4, ""),
    ("error('a:b: c', 0)", .error, 4, "a:b: c"), ("assert(false, 'claimed')", .error, 4, "claimed"),
    ("assert(nil)", .error, 4, "assertion failed"),
    ("string.rep()", .error, 4, "bad argument #1"), ("decide('x')", .error, 4, "bad argument #2"),
    ("decide(1, 2)", .value, 4, "key must be a string"),
    ("local function f()\nerror('deep')\nend\nf()", .error, 5, "deep"), ("helper()", .error, 2, "in the helper"),
    ("require('module').fail()", .error, 2, "in the module"), ("pcall(error, 'x') error('after')", .error, 4, "after"),
    ("local ok, why = pcall(function()\nerror('inner')\nend)\nerror(why, 0)", .error, 5, "inner"),
    ("local ok, why = pcall(decide, 'x', 0/0)\nerror(why, 0)", .value, nil, "NaN"),
    (
      "local co = coroutine.create(function()\nerror('inside')\nend)\nlocal ok, why = coroutine.resume(co)\nerror(why, 0)",
      .error, 5, "inside"
    ),
    ("coroutine.wrap(function()\nerror('inside')\nend)()", .error, nil, "inside"),
    ("xpcall(error, function() error('in the handler') end)\nerror('then')", .error, 5, "then"),
    ("local x <close> = setmetatable({}, { __close = function()\nerror('closing') end })", .error, 5, "closing"),
    ("while true do end", .instructions, 4, "instructions"),
    ("('x'):rep(1 << 30)", .memory, nil, "memory"),
    ("(('a'):rep(30000)):find(('.-'):rep(20) .. 'b')", .time, nil, "processor time"),
    ("emit('nowhere', 'x')", .value, 4, "nowhere"),
    ("emit('client', 'x', {}, { kye = 'a' })", .value, 4, "emit: no option 'kye'; the options are id and key"),
    ("emit('client', 'x', {}, { z = 1, key = 'k', b = 1, c = 1 })", .value, 4, "emit: no option 'b'"),
    ("emit('client', 'x', {}, { 'k' })", .value, 4, "emit: no option '1'"),
    ("emit('client', 'x', {}, array { 'k' })", .value, 4, "options have a metatable"),
    ("timer.set('x', 0/0, 'y')", .value, 4, "due"),
    ("count('x', {}, 'many')", .value, 4, "counts numbers"),
    ("send('', 'x')", .value, 4, "empty"), ("raise(('x'):rep(257))", .value, 4, "longer than 256"),
    ("raise('a\\nb')", .value, 4, "control"),
    ("once('x', -1)", .value, 4, "positive"), ("calendar.date(0, 'Nowhere/Land')", .error, 4, "Nowhere/Land"),
    ("state.f = decide", .state, nil, "state.f"), ("counters('x')", .error, 4, "query"),
  ]

  @Test func `a rule that catches the lack of time zone files fails nevertheless, and only on that event`() throws {
    let bench = try Bench(
      Bench.rule("if event.type == 'zone' then decide('known', (pcall(calendar.day, 0, 'Europe/Berlin'))) end"),
      worker: LuaWorker(zones: ZoneDatabase { _ in nil }))
    let failure = try #require(try bench.handle(type: "zone").failure)
    #expect(failure.kind == .error && failure.message.contains("install tzdata"), "\(failure)")
    #expect(try bench.handle(type: "other").failure == nil)
  }

  @Test(arguments: failures.indices)
  func `a failure says what and where`(_ index: Int) throws {
    let (run, kind, line, message) = Self.failures[index]
    let bench = try Bench(
      Bench.rule(run, before: "local function helper() error('in the helper') end require 'module'"),
      modules: ["module.lua": "return { fail = function()\nerror('in the module') end }"])
    let failure = try #require(try bench.handle().failure)
    #expect(failure.kind == kind, "\(failure)")
    #expect(line == nil || failure.line == line, "\(failure)")
    #expect(failure.message.contains(message), "\(failure)")
    #expect(line == nil || failure.file == (run.contains("module") ? "t/module.lua" : "t/plugin.lua"))
    #expect(failure.plugin == "t")
  }

  /// What stands at file level from line 2 on, and the error's line and a part of its message.
  static let loading: [(before: String, line: Int, message: String)] = [
    ("local = 1", 2, "<name> expected"), ("local x = 'open", 2, "unfinished string"), ("\n\nerror('boom')", 4, "boom"),
    ("error({})", 2, "table"),
    ("local x = os", 2, "undeclared global 'os'"), ("require 'nothing'", 2, "nothing.lua"),
    ("require 'broken'", 3, "<name> expected"),
    ("require 'failing'", 2, "at load"), ("data 'nothing.json'", 2, "nothing.json"), ("rule 'a' {}", 2, "run"),
    ("rule 'a' { on = 'x', run = 1 }", 2, "function"),
    ("rule 'a' { on = 'x', colour = 1, run = function() end }", 2, "colour"),
    ("local f\n\nlocal function g() f = 1 end rule 'a' { on = 'x', run = function() g() end }", 4, "assigns 'f'"),
    (
      "local c = coroutine.create(error)\nrule 'a' { on = 'x', run = function() return c end }", 3,
      "'c': a coroutine can't"
    ),
    (
      "local t = { {} }\nt[1].c = ('x'):gmatch('x')\nlocal function f() return t end\nrule 'a' { on = 'x', run = f }",
      4, "'t': a coroutine or"
    ),
    (
      "local m = {}\nlocal t = setmetatable({}, m)\nm.__gc = 1\nrule 'a' { on = 'x', run = function() return t end }",
      5,
      "'t': '__gc'"
    ),
    ("require 'iterator'", 1, "a coroutine or an iterator can't"),
    ("require 'a'", 1, "requires itself"), ("\nwhile true do end", 3, "processor time"),
  ]

  @Test(arguments: loading.indices)
  func `an error at load says what and where`(_ index: Int) throws {
    let (before, line, message) = Self.loading[index]
    do {
      _ = try Bench(
        Bench.rule("", before: before),
        modules: [
          "broken.lua": "local a\n\nlocal =", "failing.lua": "\nerror('at load')", "a.lua": "require 'b'",
          "b.lua": "require 'a'", "iterator.lua": "return { ('x'):gmatch('x') }",
        ])
      Issue.record("it loads: \(before)")
    } catch let error as LoadError {
      #expect(error.line == line, "\(error)")
      #expect(error.message.contains(message), "\(error)")
      #expect(error.file.hasPrefix("t/"), "\(error)")
    }
  }

  @Test(arguments: ["plugin {}", "plugin { name = '' }"])
  func `A plugin without a name is told which to write`(source: String) throws {
    let error = #expect(throws: LoadError.self) { try Bench(source) }
    #expect(error?.message == "plugin has no name; write name = \"t\"")
    #expect(error?.line == 1)
  }

  @Test func `a long path is named whole`() throws {
    let name = String(repeating: "long-name-", count: 8)
    let bench = try Bench(Bench.rule("error('boom')", name: name), name: name)
    let failure = try #require(try bench.handle().failure)
    #expect(failure.file == "\(name)/plugin.lua")
    #expect(failure.line == 4)
    #expect(failure.message == "boom")
  }

  @Test func `a long path is named whole when it does not compile`() throws {
    let name = String(repeating: "long-name-", count: 8)
    let error = #expect(throws: LoadError.self) { try Bench(Bench.rule("local = 1", name: name), name: name) }
    #expect(error?.file == "\(name)/plugin.lua")
    #expect(error?.line == 4)
  }

  @Test func `a failure of one event is not the next one's`() throws {
    let bench = try Bench(Bench.rule("if event.data.fail then error('first') end state.f = event.data.f and decide"))
    #expect(try bench.handle(#"{"data":{"fail":true}}"#).failure?.message == "first")
    #expect(try bench.handle(#"{"data":{"f":true}}"#).failure?.kind == .state)
    #expect(try bench.handle().failure == nil)
  }
}
