extension HostileScript {
  /// What never ends in Lua's own instructions.
  static let loops: [HostileScript] = [
    HostileScript("while true", .instructions, run: #"while true do end"#),
    HostileScript("repeat until false", .instructions, run: #"repeat local x = 1 until false"#),
    HostileScript("goto", .instructions, run: #"::again:: goto again"#),
    HostileScript("a float for without end", .instructions, run: #"for i = 1, math.huge do end"#),
    HostileScript("an integer for of 2^62", .instructions, run: #"for i = 1, 1 << 62 do end"#),
    HostileScript("a tail call to itself", .instructions, run: #"local function f() return f() end f()"#),
    HostileScript(
      "tail calls in a circle", .instructions,
      run: #"local g; local function f(x) return g(x) end; g = function(x) return f(x) end; f(1)"#),
    HostileScript("an iterator without end", .instructions, run: #"for _ in function() return 1 end do end"#),
    HostileScript(
      "__pairs without end", .instructions,
      run: #"for _ in pairs(setmetatable({}, { __pairs = function() return function() return 1 end end })) do end"#),
    HostileScript("a native iterator that wants other arguments", .error, run: #"for _ in math.random do end"#),
    HostileScript(
      "ipairs over __index without end", .instructions,
      run: #"for _ in ipairs(setmetatable({}, { __index = function() return 1 end })) do end"#),
    HostileScript(
      "ipairs over a native __index", [.instructions, .time],
      run: #"for _ in ipairs(setmetatable({}, { __index = type })) do end"#),
    HostileScript("__eq without end", .instructions, run: endless("__eq", "local x = t == setmetatable({}, m)")),
    HostileScript("__lt without end", .instructions, run: endless("__lt", "local x = t < t")),
    HostileScript("__le without end", .instructions, run: endless("__le", "local x = t <= t")),
    HostileScript("__concat without end", .instructions, run: endless("__concat", "local x = t .. 'x'")),
    HostileScript("__len without end", .instructions, run: endless("__len", "local x = #t")),
    HostileScript("__unm without end", .instructions, run: endless("__unm", "local x = -t")),
    HostileScript("__call without end", .instructions, run: endless("__call", "t()")),
    HostileScript("__index without end", .instructions, run: endless("__index", "local x = t.x")),
    HostileScript("__newindex without end", .instructions, run: endless("__newindex", "t.x = 1")),
    HostileScript("__tostring without end", .instructions, run: endless("__tostring", "tostring(t)")),
    HostileScript(
      "__tostring without end in format", .instructions, run: endless("__tostring", "string.format('%s', t)")),
    HostileScript(
      "a coroutine without end", .instructions, run: #"coroutine.wrap(function() while true do end end)()"#),
    HostileScript(
      "few instructions in each of many coroutines", .instructions,
      run: #"while true do coroutine.wrap(function() for i = 1, 900 do end end)() end"#),
    HostileScript(
      "two coroutines in turn", [.instructions, .time],
      run: #"""
        local function body() while true do coroutine.yield() end end
        local a, b = coroutine.create(body), coroutine.create(body)
        while true do coroutine.resume(a) coroutine.resume(b) end
        """#),
    HostileScript(
      "a coroutine of a coroutine", [.instructions, .time],
      run: #"""
        local function deep(n)
          if n == 0 then while true do end end
          return coroutine.wrap(function() deep(n - 1) end)()
        end
        deep(50)
        """#),
    HostileScript(
      "a dead coroutine's error, swallowed for ever", [.instructions, .time, .memory],
      run: #"while true do coroutine.resume(coroutine.create(error)) end"#),
    HostileScript(
      "a when without end", .instructions, load: #"local forever = function() while true do end end"#,
      run: #"forever()"#),
  ]

  private static func endless(_ metamethod: String, _ use: String) -> String {
    "local m = { \(metamethod) = function() while true do end end }; local t = setmetatable({}, m); \(use)"
  }
}
