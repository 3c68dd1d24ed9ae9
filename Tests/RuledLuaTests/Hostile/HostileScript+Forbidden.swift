extension HostileScript {
  /// What is not offered, and what is shared.
  static let forbidden: [HostileScript] =
    absent.map { HostileScript("the global \($0)", .error, run: "local x = \($0)") }
    + missing.map { HostileScript("the function \($0)", .error, run: "\($0)('x')") }
    + writes.map { HostileScript("writing by \($0)", .error, run: $0) }
    + atLoad.map { HostileScript("at load \($0)", .refused, load: $0) }
    + [
      HostileScript("require while an event is handled", .error, run: #"require "other""#),
      HostileScript(
        "declaring while an event is handled", .error, run: #"rule "again" { on = "*", run = function() end }"#),
      HostileScript("an address in a format", .error, run: #"string.format("%p", {})"#),
      HostileScript("an address in a format with a width", .error, run: #"string.format("%%%-20p", {})"#),
      HostileScript("resuming what runs", .done, run: #"coroutine.resume(coroutine.running())"#),
      HostileScript("yielding from the rule", .error, run: #"coroutine.yield()"#),
      HostileScript("a long name", .error, run: "local x = a" + String(repeating: "b", count: 5_000)),
    ]

  private static let absent = [
    "os", "io", "package", "debug", "load", "loadstring", "loadfile", "dofile", "collectgarbage", "print", "warn", "_G",
    "newproxy", "unpack", "getfenv", "setfenv", "module", "jit", "ffi", "bit32", "arg", "_VERSION", "_LOADED",
  ]

  private static let missing = [
    "string.dump", "coroutine.close", "math.randomseed", "table.foreach", "string.gfind", "math.pow",
  ]

  private static let writes = [
    "x = 1", "_ENV.x = 1", "rawset(_ENV, 'x', 1)", "setmetatable(_ENV, {})", "string.rep = nil",
    "rawset(string, 'rep', 1)",
    "setmetatable(string, {})", "table.insert(string, 1)", "table.move({ 1 }, 1, 1, 1, math)",
    "getmetatable('').__index = {}",
    "getmetatable('').x = 1", "setmetatable('', {})", "('').x = 1", "json.null = 1", "json.null.x = 1",
    "settings.x = 1",
    "plugin.name = 'x'", "event.x = 1", "event.data.x = 1", "event.data = {}", "rawset(event, 'x', 1)",
    "setmetatable(event, {})",
    "table.insert(event.data, 1)", "setmetatable({}, event)", "setmetatable({}, settings)", "setmetatable({}, string)",
    "setmetatable({}, event.data)", "getmetatable(event).x = 1", "getmetatable(array {}).__index = {}",
    "setmetatable(array {}, {})",
    "log.info = nil", "calendar.x = 1", "coroutine.wrap = nil", "utf8.x = 1", "timer.x = 1",
  ]

  private static let atLoad = [
    "os.exit(1)", "io.write('x')", "string.rep = nil", "x = 1", "rawset(_ENV, 'x', 1)", "setmetatable({}, string)",
    "setmetatable({}, { __gc = function() end })", "setmetatable({}, { __mode = 'k' })", "decide('x', 1)",
    "emit('client', 'x')",
    "error('x')", "error({})", "error(nil)",
    "error(setmetatable({}, { __tostring = function() while true do end end }))",
    "require 'nothing'", "require '../../etc/passwd'", "require(nil)", "require {}", "data 'nothing.json'",
    "data '/etc/passwd'",
    "coroutine.yield()", "rule(1)", "rule 'a' (1)", "rule 'a' {}", "query 'x' {}", "plugin { name = 'hostile' }",
    "test 'x' (function() end)",
    "local x <close> = 1", "goto nowhere", "x =", "return return", "now()", "uuid()", "once('x')", "peek('x')",
  ]
}
