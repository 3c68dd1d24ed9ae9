extension HostileScript {
  /// What costs time within single instructions and native functions.
  static let native: [HostileScript] = [
    HostileScript("backtracking by lazy items", .time, run: #"(("a"):rep(30000)):find((".-"):rep(20) .. "b")"#),
    HostileScript(
      "backtracking by options", .time, run: #"(("a"):rep(40)):find(("a?"):rep(40) .. ("a"):rep(40) .. "b")"#),
    HostileScript("backtracking in match", .time, run: #"(("x"):rep(5000)):match("(.*)(.*)(.*)(.*)y")"#),
    HostileScript("backtracking in gmatch", .time, run: #"for _ in (("x"):rep(20000)):gmatch("(.*)(.*)(.*)y") do end"#),
    HostileScript("backtracking in gsub", .time, run: #"(("x"):rep(20000)):gsub("(.*)(.*)(.*)y", "")"#),
    HostileScript("%b without an end", .time, run: #"(("("):rep(1 << 20)):find("%b()")"#),
    HostileScript("%f over and over", .time, run: #"while true do (("a"):rep(1 << 20)):find("%f[b]") end"#),
    HostileScript("back references", .time, run: #"(("a"):rep(20000)):find("(.+)%1b")"#),
    HostileScript(
      "a plain find", .time,
      run: #"local s = ("a"):rep(1 << 21) s:find(("a"):rep(1 << 20) .. "b", 1, true)"#),
    HostileScript("a gsub of quadratic cost", .time, run: #"(("a"):rep(1 << 20)):gsub(".-b", "")"#),
    HostileScript("rep of nothing", .time, run: #"string.rep("", 1 << 62)"#),
    HostileScript("rep of nothing with nothing between", .time, run: #"string.rep("", math.maxinteger, "")"#),
    HostileScript(
      "table.move with lies", .time,
      run:
        #"table.move(setmetatable({}, { __index = type }), 1, 1 << 62, 1, setmetatable({}, { __newindex = rawequal }))"#
    ),
    HostileScript("table.move of nothing", .time, run: #"table.move({}, 1, 1 << 62, 2)"#),
    HostileScript("table.insert with a lying length", .time, run: lying("table.insert(t, 1, 1)")),
    HostileScript("table.remove with a lying length", .time, run: lying("table.remove(t, 1)")),
    HostileScript(
      "table.concat with a lying length", [.time, .memory, .error],
      run: #"table.concat(setmetatable({}, { __len = function() return 1 << 53 end, __index = type }))"#),
    HostileScript(
      "table.concat of nothing with a lying length", .instructions,
      run:
        #"table.concat(setmetatable({}, { __len = function() return 1 << 53 end, __index = function() return "" end }))"#
    ),
    HostileScript("table.unpack with a lying length", .error, run: lying("table.unpack(t)")),
    HostileScript("table.unpack of 2^53", [.error, .memory], run: #"table.unpack({}, 1, 1 << 53)"#),
    HostileScript("table.sort with a lying length", [.error, .time, .memory], run: lying("table.sort(t)")),
    HostileScript(
      "table.sort with a length of 2^31 - 2", [.time, .memory],
      run: #"""
        local t = setmetatable({}, { __len = function() return (1 << 31) - 2 end, __index = type, __newindex = rawequal })
        table.sort(t, rawequal)
        """#),
    HostileScript(
      "# with a lying length in a native function", .error,
      run: #"table.concat(setmetatable({}, { __len = function() return "x" end }))"#),
    HostileScript(
      "integer keys in one chain", [.time, .memory, .instructions, .done],
      run: #"""
        local t = {}
        for i = 1, 60000 do t[i * ((1 << 16) - 1) * ((1 << 17) - 1) * 3] = true end
        for i = 1, 60000 do t[i * ((1 << 16) - 1)] = true end
        """#),
    HostileScript(
      "float keys in one chain", [.time, .memory, .instructions, .done],
      run: #"local t = {} for i = 1, 100000 do t[i * 2.0 ^ 200] = true end"#),
    HostileScript(
      "deleted keys before next", [.time, .instructions],
      run: #"""
        local t = {}
        for i = 1, 30000 do t["k" .. i] = 1 end
        for k in next, t do t[k] = nil end
        while true do next(t) end
        """#),
    HostileScript(
      "next for ever", [.time, .instructions],
      run: #"local t = {} for i = 1, 20000 do t[i] = i end while true do for _ in next, t do end end"#),
    HostileScript(
      "pairs for ever", [.time, .instructions],
      run: #"local t = {} for i = 1, 50000 do t["k" .. i] = i end while true do for _ in pairs(t) do end end"#),
    HostileScript(
      "the length of a table with holes", [.time, .instructions],
      run: #"local t = {} for i = 0, 20 do t[1 << i] = 1 end while true do local n = #t end"#),
    HostileScript(
      "a chain of __call to itself", [.error, .memory, .time],
      run: #"local m = {} local t = setmetatable({}, m) m.__call = t t()"#),
    HostileScript(
      "a long chain of __call", [.error, .memory, .time, .done],
      run: #"local t = function() end for i = 1, 1000 do t = setmetatable({}, { __call = t }) end t()"#),
    HostileScript(
      "a circle of __index", .error,
      run: #"local a, b = {}, {} setmetatable(a, { __index = b }) setmetatable(b, { __index = a }) local x = a.x"#),
    HostileScript(
      "a circle of __index, swallowed", [.instructions, .time],
      run: #"local a = {} setmetatable(a, { __index = a }) while true do pcall(function() return a.x end) end"#),
    HostileScript(
      "concatenation of large strings", [.time, .memory, .instructions],
      run: #"local s = ("x"):rep(1 << 20) while true do local x = s .. "y" end"#),
    HostileScript(
      "comparison of large strings", [.time, .instructions],
      run: #"local a, b = ("x"):rep(1 << 21), ("x"):rep(1 << 21) .. "y" while true do local x = a < b end"#),
    HostileScript(
      "equality of large strings", [.time, .instructions],
      run: #"local a, b = ("x"):rep(1 << 21), "x" .. ("x"):rep((1 << 21) - 1) while true do local x = a == b end"#),
    HostileScript(
      "a large string as a key", [.time, .memory, .instructions],
      run: #"local s = ("x"):rep(1 << 20) while true do local t = { [s .. "y"] = 1 } end"#),
    HostileScript("large formats", [.time, .instructions], run: #"while true do string.format("%99.99f", 1e308) end"#),
    HostileScript(
      "number from a large text", [.time, .instructions, .memory],
      run: #"local s = ("1"):rep(1 << 20) while true do tonumber(s) end"#),
    HostileScript(
      "upper of large strings", [.time, .memory, .instructions],
      run: #"local s = ("x"):rep(1 << 20) while true do s:upper() end"#),
    HostileScript(
      "utf8.len of large strings", [.time, .instructions],
      run: #"local s = ("x"):rep(1 << 22) while true do utf8.len(s) end"#),
    HostileScript(
      "utf8.codes with a string without end", [.time, .instructions],
      run: #"local s = ("\u{10FFFF}"):rep(1 << 20) while true do for _ in utf8.codes(s) do end end"#),
    HostileScript(
      "hash of large strings", [.time, .instructions],
      run: #"local s = ("x"):rep(1 << 20) while true do hash.sha256(s) end"#),
    HostileScript(
      "lower of large strings", [.time, .memory, .instructions],
      run: #"local s = ("É"):rep(1 << 18) while true do text.lower(s) end"#),
    HostileScript(
      "json.decode for ever", [.time, .memory, .instructions],
      run: #"local s = "[" .. ("1,"):rep(100000) .. "1]" while true do json.decode(s) end"#),
    HostileScript(
      "json.encode for ever", [.time, .memory, .instructions],
      run: #"local t = {} for i = 1, 10000 do t[i] = "x" end while true do json.encode(t) end"#),
    HostileScript(
      "url.parse of large texts", [.time, .memory, .error, .instructions],
      run: #"local s = "https://x.example/?" .. ("a=1&"):rep(100000) while true do url.parse(s) end"#),
    HostileScript(
      "zones without end", [.time, .instructions, .error],
      run: #"for i = 1, 1e9 do pcall(calendar.date, 0, "Nowhere/" .. i) end"#),
    HostileScript(
      "pcall of native functions for ever", [.time, .instructions], run: #"while true do pcall(string.rep) end"#),
    HostileScript(
      "math.random of a narrow range", [.time, .instructions], run: #"while true do math.random(1 << 62) end"#),
    HostileScript(
      "tostring for ever", [.time, .instructions, .memory], run: #"local i = 0 while true do i = i + 1 tostring(i) end"#
    ),
  ]

  private static func lying(_ use: String) -> String {
    "local t = setmetatable({}, { __len = function() return 1 << 53 end }) \(use)"
  }
}
