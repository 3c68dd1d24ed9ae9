internal import RuledCore

/// `rulectl check`: looks for what is wrong in the rules, without a daemon.
package enum CheckCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "check", "Looks for what is wrong in the rules, without a daemon.",
    synopsis: ["[DIR] [--config FILE] [--json]"], optional: 1, completes: .folders,
    options: [
      OptionSpec(
        "config", short: "c", value: "FILE", "Checks a configuration file too, against the rules.", completes: .files),
      OptionSpec("json", "Prints the findings as JSON."),
    ],
    details: """
      DIR is the rules folder, 'rules' by default, or one plugin's folder. Every finding is printed with file and line:
      syntax errors, undeclared globals in any branch, wrong manifest keys, unknown sinks, files and modules, rules that
      share a name, and rules that no event can reach. The exit code is 1 when something was found.
      """,
    examples: [
      .init("rulectl check", "all plugins under rules/"),
      .init("rulectl check --config /etc/ruled/ruled.conf.lua /etc/ruled/rules", "and the daemon's configuration"),
    ])

  /// Checks, and prints what was found.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var check = try RulesCheck(try RulesPlace(arguments.operand(0) ?? "rules"))
    if let path = arguments.value("config") { check.check(configuration: path) }
    let findings = check.findings
    if arguments.has("json") {
      environment.print(json: [
        "plugins": .integer(Int64(check.plugins.count)), "rules": .integer(Int64(check.rules)),
        "findings": .array(findings.map(\.json)),
      ])
    } else {
      for finding in findings { environment.output.write(finding.text.printable + "\n") }
      let sum = "\(Figures.count(check.plugins.count, "plugin")), \(Figures.count(check.rules, "rule")), "
      let style = environment.style
      let end = findings.isEmpty ? style.green("no findings") : style.red(Figures.count(findings.count, "finding"))
      environment.output.write("\(sum)\(end)\n")
    }
    return findings.isEmpty ? .done : .no
  }
}
