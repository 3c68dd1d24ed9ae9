internal import RuledCore

enum UnpinCommand: Command {
  static let spec = CommandSpec(
    "unpin", "Reads the rules folder again after a rollback.", options: [.json],
    details: "When the rules in the folder do not load, the pinned ones keep serving, and the exit code is 1.",
    examples: [.init("rulectl unpin", "once the folder has the right rules")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    try environment.answer("unpin", [:], arguments) { result in
      "the rules folder is read again: revision \(result.word("revision").printable) serves\n"
    }
  }
}
