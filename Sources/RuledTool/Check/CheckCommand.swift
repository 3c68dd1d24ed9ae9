internal import RuledCore
internal import RuledReports

enum CheckCommand: Command {
  static let spec = CommandSpec(
    "check", "Finds what is wrong in the rules, without a daemon.",
    synopsis: ["[DIR…] [--config FILE] [--fix] [--sarif FILE] [--json]"], optional: CommandSpec.any,
    completes: .folders,
    options: [
      OptionSpec(
        "fix",
        "Mends what is safe: names that differ from a known one by one letter, print, os.time, times of timers."),
      OptionSpec(
        "sarif", value: "FILE", "Writes the findings as SARIF, too, which code hosts show.", completes: .files),
      OptionSpec(
        "config", short: "c", value: "FILE", "Checks a configuration file against the rules and this host, too.",
        completes: .files),
      OptionSpec("json", "Prints the findings as JSON."),
    ],
    details: """
      DIR is the rules folder, 'rules' by default, or plugins' folders in it. Every finding is printed with file and
      line: syntax errors, undeclared globals in any branch, members of the host that do not exist, wrong manifest keys,
      unknown sinks, files, modules and settings, settings that nothing reads, assignments that lose the state, decisions
      without a value, events that no rule listens to or that look like another, members of events' data that are not
      described, members of states that are not declared, conditions that return nothing, rules that share a name, and
      rules that no event can reach; calls with too many, too few or wrong arguments, members and options that the
      plugin's modules do not have, plugins, timers, boards, topics and counters that are named and that nothing makes,
      changes in queries and handlers and of what is frozen, functions without a return, and expressions that are hardly
      meant. Decisions that no test reads, locals that nothing reads and the like are notes. docs/mistakes.md has a
      hundred mistakes with what finds each. A daemon at the socket is
      asked for its rules: a state's shape that differs from the one in force needs a new version. With --config also:
      secrets, tokens and folders that can't be used, settings of
      another kind than their default, users and groups that do not exist; run it as the daemon's user. The exit code is
      1 when there is a finding; notes do not count.
      """,
    examples: [
      .init("rulectl check", "all plugins under rules/"),
      .init(
        "rulectl check --config /etc/ruled/ruled.conf.lua /etc/ruled/rules", "the same, and the daemon's configuration"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let selection = try RulesSelection(arguments.operands, libraryTests: true)
    var check = try RulesCheck(selection)
    var fixed = 0
    // Of several findings on one line, the first is known at a time.
    while arguments.has("fix"), fixed < 10_000 {
      let count = try FindingFixes.apply(check.findings, root: selection.root)
      guard count > 0 else { break }
      fixed += count
      check = try RulesCheck(selection)
    }
    check.checkShapes(environment)
    if let path = arguments.value("config") { check.check(configuration: path) }
    let findings = check.findings.filter { !$0.isNote }
    if let path = arguments.value("sarif") {
      let report = SARIFReport.json(check.findings, root: arguments.operand(0) ?? "rules")
      try WholeFile.replace(path, with: Array((report.prettyText() + "\n").utf8))
    }
    if arguments.has("json") {
      environment.print(json: [
        "plugins": .integer(Int64(check.plugins.count)), "rules": .integer(Int64(check.ruleCount)),
        "findings": .array(findings.map(\.json)), "notes": .array(check.findings.filter(\.isNote).map(\.json)),
        "fixed": .integer(Int64(fixed)),
      ])
    } else {
      for finding in check.findings { environment.output.write(finding.text.printable + "\n") }
      environment.output.write(summary(check, fixed: fixed, environment.style))
    }
    return findings.isEmpty ? .done : .no
  }

  private static func summary(_ check: RulesCheck, fixed: Int, _ style: Style) -> String {
    let notes = check.findings.count(where: \.isNote)
    let count = check.findings.count - notes
    var text = "\(Figures.count(check.plugins.count, "plugin")), \(Figures.count(check.ruleCount, "rule")), "
    text += count == 0 ? style.green("no findings") : style.red(Figures.count(count, "finding"))
    if notes > 0 { text += ", \(Figures.count(notes, "note"))" }
    if fixed > 0 { text += ", \(Figures.count(fixed)) mended" }
    return text + "\n"
  }
}
