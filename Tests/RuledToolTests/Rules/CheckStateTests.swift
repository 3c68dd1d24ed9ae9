import RuledTool
import Testing

/// Members of states that `rulectl check` does not find declared.
@Suite struct CheckStateTests {
  private func check(_ text: String) -> Run {
    let shape = """
      plugin { name = 'p' }
      state { version = 2, debt = "integer?", ["wallet?"] = { points = "integer" }, ["items?"] = { { price = "number" } } }
      migrate { [2] = { up = function(state) state.old = nil return state end } }

      """
    let folder = RulesFolderOnDisk(["p/plugin.lua": shape + text])
    return withExtendedLifetime(folder) { Run(words: ["check", folder.path, "--socket", "\(folder.path)/none"]) }
  }

  private static func rule(_ text: String) -> String { "rule 'r' { on = 'x', run = function(event, s)\n\(text)\nend }" }

  @Test(arguments: [
    (rule("s.dept = 1"), 5, "'dept'; did you mean 'debt'?"),
    (rule("log.info(s['dept'])"), 5, "'dept'; did you mean 'debt'?"),
    (rule("s.wallet = s.wallet or { points = 0 } s.wallet.poinst = 1"), 5, "'poinst'; did you mean 'points'?"),
    (rule("local w = s.wallet or {} w.poinst = 1"), 5, "'poinst'; did you mean 'points'?"),
    (rule("s.wallet = { poinst = 1 }"), 5, "'poinst'; did you mean 'points'?"),
    (rule("for _, item in ipairs(s.items) do log.info(item.prize) end"), 5, "'prize'; did you mean 'price'?"),
    (rule("s.items[1] = { prize = 1 }"), 5, "'prize'; did you mean 'price'?"),
    (
      "local function add(state)\nstate.unheard = 1 end\nrule 'r' { on = 'x', run = function(_, s) add(s) end }", 5,
      "'unheard'; add it"
    ),
    ("query 'q' (function(s)\nreturn s.dept end) " + rule(""), 5, "'dept'; did you mean 'debt'?"),
    ("query 'q' { run = function(s)\nreturn s.dept end } " + rule(""), 5, "'dept'; did you mean 'debt'?"),
    (rule("s.debt = 1 s.wallet = { points = 1 } s.items[1] = { price = 1 } local n = #s.items log.info(n)"), 0, ""),
    (rule("local w = s.wallet w = { other = 1 } log.info(w.other)"), 0, ""),
  ])
  func `a member that is not declared is found where it is read or written`(
    rules: String, line: Int, message: String
  ) {
    let run = check(rules)
    guard line > 0 else {
      #expect(run.exit == .done, "\(run.output)")
      return
    }
    #expect(run.exit == .no)
    #expect(
      run.output.contains("p/plugin.lua:\(line): the plugin's state declares no member \(message)"), "\(run.output)")
  }

  @Test(
    arguments: [
      ("s.wallet.points = s.wallet.points + 1", "s.wallet"),
      ("local w = s.wallet or {} w.points = w.points + 1", "w.points"),
      ("s.wallet = s.wallet or {} s.wallet.points = s.wallet.points + 1", "s.wallet.points"),
      ("s.wallet = s.wallet or {} s.wallet.points = (s.wallet.points or 0) + 1", nil),
      ("local w = s.wallet or { points = 0 } w.points = w.points + 1", nil),
      ("local w = s.wallet or {} if w.points then w.points = w.points + 1 end", nil),
    ] as [(String, String?)])
  func `a sum with what an empty state does not have is found, one level down too`(statement: String, part: String?) {
    let run = check(Self.rule(statement))
    let note = part.map { "p/plugin.lua:5: note: \($0) is nil until something sets it; write (\($0) or …)\n" }
    #expect(run.output.contains(note ?? "1 rule, no findings\n"), "\(run.output)")
  }
}
