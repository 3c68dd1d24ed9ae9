internal import RuledCore

enum ReloadCommand: Command {
  static let spec = CommandSpec(
    "reload", "Reloads the rules, or shows what is wrong with them.",
    options: [.json],
    details: """
      When the rules do not load, the old ones keep serving, and the exit code is 1. It is 1, too, while the daemon's
      configuration on the disk is refused.
      """,
    examples: [.init("rulectl reload", "after an edit")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    try environment.answer("reload", [:], arguments) { result in
      let revision = result.word("revision").printable
      let changed = result.member("changed")?.boolValue ?? false
      return changed ? "revision \(revision) serves now\n" : "nothing changed; revision \(revision)\n"
    }
  }
}
