package import RuledCore

/// `rulectl check`: finds what is wrong in the rules, without a daemon.
package enum CheckCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "check", "Finds what is wrong in the rules, without a daemon.",
    synopsis: ["[DIR] [--config FILE] [--json]"], optional: 1, completes: .folders,
    options: [
      OptionSpec(
        "config", short: "c", value: "FILE", "Checks a configuration file against the rules and this host, too.",
        completes: .files),
      OptionSpec("json", "Prints the findings as JSON."),
    ],
    details: """
      DIR is the rules folder, 'rules' by default, or one plugin's folder. Every finding is printed with file and line:
      syntax errors, undeclared globals in any branch, wrong manifest keys, unknown sinks, files and modules, rules that
      share a name, and rules that no event can reach. With --config also: secrets, tokens and folders that can't be
      used, settings of another kind than their default, users and groups that do not exist; run it as the daemon's
      user. The exit code is 1 when there is a finding.
      """,
    examples: [
      .init("rulectl check", "all plugins under rules/"),
      .init(
        "rulectl check --config /etc/ruled/ruled.conf.lua /etc/ruled/rules", "the same, and the daemon's configuration"),
    ])

  /// Checks the rules and prints the findings.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var check = try RulesCheck(try RulesSelection(arguments.operand(0) ?? "rules"))
    if let path = arguments.value("config") { check.check(configuration: path) }
    let findings = check.findings
    if arguments.has("json") {
      environment.print(json: [
        "plugins": .integer(Int64(check.plugins.count)), "rules": .integer(Int64(check.ruleCount)),
        "findings": .array(findings.map(\.json)),
      ])
    } else {
      for finding in findings { environment.output.write(finding.text.printable + "\n") }
      let sum = "\(Figures.count(check.plugins.count, "plugin")), \(Figures.count(check.ruleCount, "rule")), "
      let style = environment.style
      let end = findings.isEmpty ? style.green("no findings") : style.red(Figures.count(findings.count, "finding"))
      environment.output.write("\(sum)\(end)\n")
    }
    return findings.isEmpty ? .done : .no
  }
}

/// A problem in the rules or the configuration.
struct Finding: Equatable {
  /// The file, relative to the rules folder, or the configuration file as the command line names it.
  let file: String
  /// The line from 1; 0 for the whole file.
  let line: Int
  /// What is wrong.
  let message: String

  /// The finding as `file:line: message`.
  var text: String {
    if file.isEmpty { return message }
    return line > 0 ? "\(file):\(line): \(message)" : "\(file): \(message)"
  }

  /// The finding as JSON.
  var json: JSONValue {
    ["file": .string(file), "line": .integer(Int64(line)), "message": .string(message)]
  }
}
