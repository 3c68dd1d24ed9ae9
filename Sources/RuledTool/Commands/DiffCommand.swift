internal import RuledCore

enum DiffCommand: Command {
  static let spec = CommandSpec(
    "diff", "Shows what changed in a subject's states from one version to another.",
    synopsis: ["SUBJECT N M"], required: ["SUBJECT", "N", "M"], options: [.json],
    details: "The states are made from the journal, with the rules of then. Version 0 is before the first event.",
    examples: [
      .init("rulectl diff user:7 41 42", "what one event changed"),
      .init("rulectl diff user:7 0 42", "all that events have made of it"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    let versions = try arguments.operands[1...].map { text in
      guard let version = Int64(text), version >= 0 else {
        throw UsageError("N and M are versions, whole numbers from 0 on, not '\(text)'")
      }
      return version
    }
    let client = try environment.connect()
    let states = try versions.map { version in
      version == 0
        ? [:] : try client.call("state", ["subject": .string(subject), "version": .integer(version)]).member("plugins")
    }
    let changes = JSONDifference.between(states[0], states[1], byName: true)
    let answer: JSONValue = [
      "subject": .string(subject), "from": .integer(versions[0]), "to": .integer(versions[1]),
      "changes": .array(changes.map { $0.json() }),
    ]
    return environment.show(answer, arguments) { _ in
      let style = environment.style
      let lines = changes.map { change in
        let before = change.before.map { "\n  " + style.red("- \($0.text.printable)") } ?? ""
        let after = change.after.map { "\n  " + style.green("+ \($0.text.printable)") } ?? ""
        return style.bold(change.path.printable) + before + after + "\n"
      }
      return lines.isEmpty ? "nothing changed\n" : lines.joined()
    }
  }
}
