internal import RuledCore

enum RollbackCommand: Command {
  static let spec = CommandSpec(
    "rollback", "Puts an earlier revision of the rules in force, and pins it.",
    synopsis: ["[REVISION]"], optional: 1, options: [.json],
    details: """
      Without REVISION, the one that was in force before the live one. It has the settings that were configured then.
      The daemon does not read the rules folder, also after a restart, until 'rulectl unpin'.
      """,
    examples: [.init("rulectl rollback", "back to the rules before the last change")])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let params = JSONValue.members(["revision": arguments.operand(0).map(JSONValue.string)])
    return try environment.answer("rollback", params, arguments) { result in
      let revision = result.word("revision").printable
      let verb = result.member("changed")?.boolValue == true ? "serves now" : "serves already"
      return "revision \(revision) \(verb) and is pinned: the rules folder is not read until 'rulectl unpin'\n"
    }
  }
}
