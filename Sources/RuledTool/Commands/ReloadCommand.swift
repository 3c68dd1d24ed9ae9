internal import RuledCore

/// `rulectl reload`: loads the rules anew.
package enum ReloadCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "reload", "Loads the rules anew, and says what keeps them from loading.",
    options: [.json],
    details: "Rules that do not load change nothing: the old ones keep serving, and the exit code is 1.",
    examples: [.init("rulectl reload", "after an edit, to see what is wrong with it")])

  /// Reloads.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("reload", [:])
    if arguments.has("json") {
      environment.print(json: result)
      return .done
    }
    let revision = result.member("revision")?.brief.printable ?? "?"
    let changed = result.member("changed")?.boolValue ?? false
    environment.output.write(changed ? "revision \(revision) serves now\n" : "nothing changed; revision \(revision)\n")
    return .done
  }
}
