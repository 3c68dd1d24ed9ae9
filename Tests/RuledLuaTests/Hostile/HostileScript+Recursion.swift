extension HostileScript {
  /// Scripts that need much stack.
  static let recursion: [HostileScript] = [
    HostileScript("a function in itself", [.error, .memory], run: #"local function f() return 1 + f() end f()"#),
    HostileScript(
      "a function in itself, swallowed for ever", [.instructions, .time, .memory],
      run: #"local function f() return 1 + f() end while true do pcall(f) end"#),
    HostileScript("pcall in itself", .done, run: #"local function f() return pcall(f) end f()"#),
    HostileScript("xpcall in itself", .done, run: #"local function f() return xpcall(f, f) end f()"#),
    HostileScript(
      "xpcall in its own handler", [.done, .error, .instructions, .time],
      run: #"local function f() return xpcall(error, f) end f()"#),
    HostileScript("gsub in its own callback", .error, run: #"local function f(s) return (s:gsub(".", f)) end f("x")"#),
    HostileScript(
      "sort in its own comparator", .error,
      run: #"local function f() table.sort({ 2, 1, 3 }, f) return true end f()"#),
    HostileScript(
      "tostring in __tostring", .error,
      run: #"local t = setmetatable({}, { __tostring = function(t) return tostring(t) end }) tostring(t)"#),
    HostileScript(
      "format in __tostring", .error,
      run: #"local t = setmetatable({}, { __tostring = function(t) return string.format("%s", t) end }) tostring(t)"#),
    HostileScript(
      "__index in __index", .error,
      run: #"local t = setmetatable({}, { __index = function(t, k) return t[k] end }) local x = t.x"#),
    HostileScript(
      "__concat in __concat", .error,
      run: #"local t = setmetatable({}, { __concat = function(a, b) return a .. b end }) local x = t .. t"#),
    HostileScript(
      "__eq in __eq", .error,
      run:
        #"local m = {} m.__eq = function(a, b) return a == b end local x = setmetatable({}, m) == setmetatable({}, m)"#),
    HostileScript(
      "__len in __len", .error, run: #"local t = setmetatable({}, { __len = function(t) return #t end }) local x = #t"#),
    HostileScript(
      "pairs in __pairs", .error,
      run: #"local t = setmetatable({}, { __pairs = function(t) return pairs(t) end }) for _ in pairs(t) do end"#),
    HostileScript(
      "coroutines in coroutines", .error,
      run: #"local function f() return coroutine.wrap(f)() end f()"#),
    HostileScript(
      "coroutines in coroutines, swallowed", [.instructions, .time, .memory],
      run: #"local function f() coroutine.resume(coroutine.create(f)) end while true do f() end"#),
    HostileScript(
      "3,000 waiting coroutines in one another", [.done, .error, .instructions],
      run: #"""
        local co
        for i = 1, 3000 do
          local inner = co
          co = coroutine.wrap(function()
            local x <close> = setmetatable({}, { __close = function() if inner then inner() end end })
            coroutine.yield()
          end)
          co()
        end
        co()
        """#),
    HostileScript(
      "a metatable of itself", [.error, .done],
      run:
        #"local t = {} setmetatable(t, t) t.__index = t t.__newindex = t t.__call = t pcall(function() t.x = t.y end) pcall(t)"#
    ),
    HostileScript("a pattern that is too deep", .error, run: #"(("x"):rep(300000)):find(("(x"):rep(40))"#),
    HostileScript(
      "a pattern of 200,000 items", [.error, .done, .time], run: #"(("x"):rep(300000)):find(("x?"):rep(200000))"#),
    HostileScript("json of a thousand levels", .done, run: #"json.decode(("["):rep(1000) .. ("]"):rep(1000))"#),
    HostileScript(
      "a state of a thousand levels", .state,
      run: #"local t = {} for i = 1, 1000 do t = { t } end state.x = t"#),
    HostileScript("a state that contains itself", .state, run: #"state.x = { y = state }"#),
  ]
}
