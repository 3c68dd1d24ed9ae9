extension HostileScript {
  /// What is hard to load, or hard to explain once it fails.
  static let sources: [HostileScript] = [
    HostileScript("a loop at load", .refused, load: #"while true do end"#),
    HostileScript(
      "a swallowed loop at load", .refused, load: #"while true do pcall(function() while true do end end) end"#),
    HostileScript("a pattern at load", .refused, load: #"local x = (("a"):rep(30000)):find((".-"):rep(20) .. "b")"#),
    HostileScript("a source of 300 KiB", .refused, load: "--" + String(repeating: "x", count: 300_000)),
    HostileScript("a source of 200 KiB", .done, load: "--" + String(repeating: "x", count: 200_000)),
    HostileScript("bytecode", .refused, load: "\u{1B}Lua\u{54}\0"),
    HostileScript("deep parentheses", .refused, load: "local x = " + many("(", 50_000) + "1" + many(")", 50_000)),
    HostileScript("deep tables", .refused, load: "local x = " + many("{", 50_000) + many("}", 50_000)),
    HostileScript(
      "deep functions", .refused, load: "local x = " + many("function() return ", 5_000) + "1" + many(" end", 5_000)),
    HostileScript(
      "functions in functions", .done, load: "local x = " + many("function() return ", 50) + "1" + many(" end", 50),
      run: "x()"),
    HostileScript("deep blocks", .refused, load: many("do ", 40_000) + many("end ", 40_000)),
    HostileScript("many minus signs", .refused, load: "local x = " + many("- ", 100_000) + "1"),
    HostileScript("many nots", .refused, load: "local x = " + many("not ", 50_000) + "1"),
    HostileScript("a long concatenation", .refused, load: "local x = 'a'" + many(" .. 'a'", 30_000)),
    HostileScript("a long power", .refused, load: "local x = 1" + many(" ^ 1", 50_000)),
    HostileScript("a long sum", .refused, load: "local y = 1 local x = y" + many(" + y", 40_000)),
    HostileScript("a long conjunction", .refused, load: "local y = 1 local x = y" + many(" and y", 30_000)),
    HostileScript(
      "many elseifs", [.done, .refused], run: "if state.x then " + many("elseif state.y then ", 10_000) + "end"),
    HostileScript("many locals", .refused, load: many("local x ", 20_000)),
    HostileScript(
      "many constants", [.done, .refused], load: "local t = { " + (1...20_000).map { "\($0).5," }.joined() + " }"),
    HostileScript("many labels", [.done, .refused], load: (1...15_000).map { "::l\($0):: " }.joined()),
    HostileScript("a long chain of fields of nothing, 8 KB", .refused, run: "local x = state.z" + many(".z", 4_000)),
    HostileScript(
      "a long chain of fields of nothing, 40 KB", .refused, run: "local x = state.z" + many(".z", 20_000)),
    HostileScript(
      "a long chain of fields of nothing, 240 KB", .refused, run: "local x = state.z" + many(".z", 120_000)),
    HostileScript(
      "a long chain of fields at load, 40 KB", .refused, load: "local t = {} local x = t.z" + many(".z", 20_000)),
    HostileScript(
      "a long chain of fields at load, 120 KB", .refused, load: "local t = {} local x = t.z" + many(".z", 60_000)),
    HostileScript(
      "a long chain of fields at load, 240 KB", .refused, load: "local t = {} local x = t.z" + many(".z", 120_000)),
    HostileScript(
      "a long chain that fails at its end", .refused,
      run: "local t = {} t.z = t local x = t" + many(".z", 60_000) + ".nothing.z"),
    HostileScript(
      "the longest chain, which fails at its end", .error,
      run: "local t = {} t.z = t local x = t" + many(".z", 150) + ".nothing.z"),
    HostileScript(
      "a long chain at load that fails at its end", .refused,
      load: "local t = {} t.z = t local x = t" + many(".z", 60_000) + ".nothing.z"),
    HostileScript(
      "a long chain of indexes that fails at its end", .refused,
      load: "local t = {} t[1] = t local x = t" + many("[1]", 60_000) + ".nothing.z"),
    HostileScript(
      "a long chain of methods that fails at its end", .refused,
      load: "local t = {} t.z = function() return t end local x = t" + many(":z()", 40_000) + ".nothing.z"),
    HostileScript(
      "a call within a call", .refused, load: "local f = tostring local x = " + many("f(", 10_000) + many(")", 10_000)),
  ]

  private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
}
