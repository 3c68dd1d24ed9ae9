extension HostileScript {
  static let memory: [HostileScript] = [
    HostileScript("a list without end", .memory, run: #"local t = {} for i = 1, 1e9 do t[i] = { i } end"#),
    HostileScript(
      "a map without end", [.memory, .time], run: #"local t = {} for i = 1, 1e9 do t["k" .. i] = { i } end"#),
    HostileScript("tables in tables", .memory, run: #"local t = {} while true do t = { t, {}, {}, {} } end"#),
    HostileScript("doubling a string", .memory, run: #"local s = "x" while true do s = s .. s end"#),
    HostileScript("rep of a gigabyte", .memory, run: #"string.rep("x", 1 << 30)"#),
    HostileScript("rep of a terabyte", [.memory, .error], run: #"string.rep("x", 1 << 40)"#),
    HostileScript("rep of all there is", [.memory, .error], run: #"string.rep("x", math.maxinteger)"#),
    HostileScript("rep with a long separator", .memory, run: #"string.rep("x", 1 << 20, ("y"):rep(1000))"#),
    HostileScript(
      "format that doubles", .memory, run: #"local s = "x" while true do s = string.format("%s%s", s, s) end"#),
    HostileScript("gsub that multiplies", .memory, run: #"local s = ("x"):rep(1 << 12) s:gsub(".", s)"#),
    HostileScript(
      "gsub with a function that multiplies", .memory,
      run: #"local s = ("x"):rep(1 << 12) s:gsub(".", function() return s end)"#),
    HostileScript(
      "concat that multiplies", .memory,
      run: #"local s, t = ("x"):rep(1 << 12), {} for i = 1, 1 << 13 do t[i] = s end table.concat(t)"#),
    HostileScript(
      "one concatenation of many", .memory,
      run: #"local s = ("x"):rep(1 << 18) local t = "" .. "# + (1...100).map { _ in "s" }.joined(separator: " .. ")),
    HostileScript(
      "coroutines without end", [.memory, .instructions],
      run: #"local t = {} while true do t[#t + 1] = coroutine.create(function() end) end"#),
    HostileScript(
      "coroutines that wait", [.memory, .instructions],
      run:
        #"local t = {} while true do local c = coroutine.wrap(function() coroutine.yield() end) c() t[#t + 1] = c end"#),
    HostileScript(
      "closures without end", .memory,
      run: #"local t for i = 1, 1e9 do local a, b, c = t, i, {} t = function() return a, b, c end end"#),
    HostileScript(
      "a deep stack", [.memory, .error],
      run:
        #"local t = {} for i = 1, 250 do t[i] = i end local function f(...) return 1 + f(1, ...) end f(table.unpack(t))"#
    ),
    HostileScript(
      "deep stacks in many coroutines", [.memory, .instructions],
      run: #"""
        local all = {}
        local function deep(n) if n == 0 then coroutine.yield() else deep(n - 1) end return 1 end
        while true do local c = coroutine.wrap(function() deep(5000) end) c() all[#all + 1] = c end
        """#),
    HostileScript("table.pack of many", [.memory, .error], run: #"table.pack(table.unpack({}, 1, 900000))"#),
    HostileScript(
      "the bytes of a large string", [.memory, .error, .done], run: #"local t = { (("x"):rep(900000)):byte(1, -1) }"#),
    HostileScript(
      "table.move to a far place", [.memory, .done, .error], run: #"local t = { 1 } table.move(t, 1, 1, 1 << 40)"#),
    HostileScript(
      "pack with much alignment", [.memory, .error, .done], run: #"string.pack(("!16 i16 b"):rep(300000), 1)"#),
    HostileScript(
      "swallowing the end of memory", .memory,
      run: #"while true do pcall(string.rep, "x", 1 << 30) end"#),
    HostileScript(
      "swallowing it in an xpcall handler", .memory,
      run: #"while true do xpcall(string.rep, function() return ("x"):rep(1 << 30) end, "x", 1 << 30) end"#),
    HostileScript(
      "swallowing it in a coroutine", .memory,
      run: #"while true do coroutine.resume(coroutine.create(string.rep), "x", 1 << 30) end"#),
    HostileScript(
      "swallowing it in __close", .memory,
      run:
        #"local x <close> = setmetatable({}, { __close = function() local t = {} while true do t[#t + 1] = {} end end }) error("x")"#
    ),
    HostileScript(
      "holding all and asking again", [.memory, .time],
      run:
        #"local t = {} while true do pcall(function() while true do t[#t + 1] = ("x"):rep(100000) .. #t end end) end"#),
    HostileScript(
      "weak tables that fill up", [.memory, .error, .time],
      run: #"local m = {} local t = setmetatable({}, m) m["__mode"] = "kv" while true do t[{}] = {} end"#),
    HostileScript(
      "decisions without end", [.memory, .time, .instructions],
      run: #"local s = ("x"):rep(100000) for i = 1, 1e9 do decide("k" .. i, s) end"#),
    HostileScript(
      "effects without end", [.memory, .time, .instructions],
      run: #"local s = ("x"):rep(100000) while true do emit("client", "x", { s = s }) end"#),
    HostileScript(
      "small effects without end", [.memory, .time, .instructions, .value],
      run: #"while true do emit("client", "x") end"#),
    HostileScript(
      "log lines without end", [.memory, .time, .instructions],
      run: #"local s = ("x"):rep(4096) while true do log.info(s) end"#),
    HostileScript(
      "raised events without end", [.value, .time], run: #"while true do raise("x", {}) end"#),
    HostileScript(
      "messages without end", [.memory, .time, .instructions],
      run: #"local s = ("x"):rep(100000) while true do send("user:1", "x", { s }) end"#),
    HostileScript(
      "once keys without end", [.value, .time],
      run: #"local i = 0 while true do i = i + 1 once("k" .. i) end"#),
    HostileScript(
      "counts without end", [.value, .time], run: #"while true do count("hostile.x", { a = "b" }) end"#),
    HostileScript(
      "timers without end", [.value, .time],
      run: #"local i = 0 while true do i = i + 1 timer.set("t" .. i, 1, "x", { i }) end"#),
    HostileScript("a state of a megabyte", .state, run: #"state.x = ("x"):rep(1 << 20)"#),
    HostileScript(
      "a state that multiplies", [.state, .time],
      run: #"local t = { 1 } for i = 1, 50 do t = { t, t } end state.x = t"#),
    HostileScript(
      "a decision that multiplies", [.value, .time],
      run: #"local t = { 1 } for i = 1, 50 do t = { t, t } end decide("x", t)"#),
    HostileScript(
      "json.encode that multiplies", [.memory, .time],
      run: #"local t = { 1 } for i = 1, 50 do t = { t, t } end json.encode(t)"#),
    HostileScript(
      "json.encode of an object with many members", [.memory, .time, .done],
      run: #"local t = {} for i = 1, 100000 do t["k" .. i] = i end while true do json.encode(t) end"#),
    HostileScript(
      "json.decode of tables without end", [.memory, .done],
      run: #"json.decode("[" .. ("[],"):rep(300000) .. "[]]")"#),
    HostileScript("memory at load", .refused, load: #"local t = {} for i = 1, 1e9 do t[i] = {} end"#),
  ]
}
