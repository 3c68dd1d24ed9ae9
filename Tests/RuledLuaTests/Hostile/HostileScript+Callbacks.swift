extension HostileScript {
  /// What swallows the stop, or runs where a hook would not look.
  static let callbacks: [HostileScript] = [
    HostileScript(
      "pcall around the loop", .instructions, run: #"while true do pcall(function() while true do end end) end"#),
    HostileScript(
      "pcall in pcall", [.instructions, .time],
      run: #"local function f() while true do pcall(f) end end while true do pcall(f) end"#),
    HostileScript(
      "pcall as a coroutine's body", .instructions,
      run: #"while true do coroutine.wrap(pcall)(function() while true do end end) end"#),
    HostileScript(
      "an xpcall handler that loops", .instructions,
      run: #"xpcall(error, function() while true do end end)"#),
    HostileScript(
      "an xpcall handler that starts over", .instructions,
      run: #"local function f() while true do end end while true do xpcall(f, function() f() end) end"#),
    HostileScript(
      "a gsub callback that loops", .instructions,
      run: #"string.gsub(("x"):rep(100000), ".", function() while true do end end)"#),
    HostileScript(
      "a gsub callback that swallows", .instructions,
      run: #"while true do pcall(string.gsub, "x", ".", function() while true do end end) end"#),
    HostileScript(
      "gsub with a table that loops", .instructions,
      run: #"string.gsub("x", ".", setmetatable({}, { __index = function() while true do end end }))"#),
    HostileScript(
      "a comparator that loops", .instructions, run: #"table.sort({ 1, 2, 3 }, function() while true do end end)"#),
    HostileScript(
      "a comparator that swallows", .instructions,
      run: #"while true do pcall(table.sort, { 3, 2, 1 }, function() while true do end end) end"#),
    HostileScript(
      "a comparator that always says yes", .done,
      run: #"local t = {} for i = 1, 1000 do t[i] = i end table.sort(t, function() return true end)"#),
    HostileScript(
      "a comparator that yields", .error,
      run: #"coroutine.wrap(function() table.sort({ 2, 1 }, function() coroutine.yield() end) end)()"#),
    HostileScript(
      "a comparator that empties the table", [.done, .error],
      run: #"local t = { 5, 4, 3, 2, 1 } table.sort(t, function(a, b) for i = 1, 5 do t[i] = nil end return a < b end)"#
    ),
    HostileScript(
      "__close that loops", .instructions,
      run: #"local x <close> = setmetatable({}, { __close = function() while true do end end })"#),
    HostileScript(
      "__close after an error", .instructions,
      run: #"local x <close> = setmetatable({}, { __close = function() while true do end end }) error("x")"#),
    HostileScript(
      "__close of a wrapped coroutine that fails", [.instructions, .time],
      run: #"""
        pcall(coroutine.wrap(function()
          local x <close> = setmetatable({}, { __close = function() while true do end end })
          error("x")
        end))
        """#),
    HostileScript(
      "__close of a coroutine that is left behind", .done,
      run: #"""
        local co = coroutine.create(function()
          local x <close> = setmetatable({}, { __close = function() while true do end end })
          coroutine.yield()
        end)
        coroutine.resume(co)
        co = nil
        local garbage for i = 1, 20000 do garbage = { i } end
        """#),
    HostileScript(
      "__close in a for loop", .instructions,
      run: #"""
        local closer = setmetatable({}, { __close = function() while true do end end })
        for _ in function() return 1 end, nil, nil, closer do break end
        """#),
    HostileScript(
      "__close upon __close", [.instructions, .error, .memory, .time],
      run: #"""
        local function open()
          local x <close> = setmetatable({}, { __close = function() error("again") end })
          return open()
        end
        while true do pcall(open) end
        """#),
    HostileScript("__gc", .error, run: #"setmetatable({}, { __gc = function() while true do end end })"#),
    HostileScript("__gc that is true", .error, run: #"setmetatable({}, { __gc = true })"#),
    HostileScript(
      "__gc that comes later", .done,
      run: #"""
        local m = {}
        local t = setmetatable({}, m)
        m.__gc = function() while true do end end
        t = nil
        local garbage for i = 1, 50000 do garbage = { i } end
        """#),
    HostileScript(
      "__gc of a class that comes later", .refused,
      load: #"local class = {} local object = setmetatable({}, class) class.__gc = function() while true do end end"#,
      run: #"local x = object"#),
    HostileScript(
      "__gc behind __index", .done,
      run: #"""
        local m = setmetatable({}, { __index = function() return function() while true do end end end })
        local t = setmetatable({}, m)
        t = nil
        local garbage for i = 1, 50000 do garbage = { i } end
        """#),
    HostileScript(
      "a coroutine kept at file level", .refused,
      load: #"local co = coroutine.create(function() while true do coroutine.yield() end end)"#,
      run: #"coroutine.resume(co)"#),
    HostileScript(
      "an error in an error handler", [.done, .instructions, .time],
      run: #"for i = 1, 1000 do xpcall(error, function() error("again") end) end"#),
    HostileScript(
      "an error handler that overflows", [.done, .error, .instructions, .time, .memory],
      run: #"local function f() return 1 + f() end for i = 1, 3 do xpcall(f, f) end"#),
    HostileScript(
      "an error whose text loops", .error,
      run: #"error(setmetatable({}, { __tostring = function() while true do end end }))"#),
    HostileScript(
      "an error whose name lies", .error,
      run: #"error(setmetatable({}, { __name = ("x"):rep(100000), __index = function() while true do end end }))"#),
    HostileScript("an error that is nothing", .error, run: #"error(nil)"#),
    HostileScript("an error that is a function", .error, run: #"error(function() end)"#),
    HostileScript("an error of a megabyte", .error, run: #"error(("x"):rep(1 << 20))"#),
    HostileScript("an error that is not UTF-8", .error, run: #"error("\xff\xfe\0\x80")"#),
    HostileScript("a coroutine as an error", .error, run: #"error(coroutine.running())"#),
    HostileScript(
      "results with hostile metatables", .done,
      run:
        #"return setmetatable({}, { __len = function() while true do end end, __index = function() while true do end end })"#
    ),
  ]
}
