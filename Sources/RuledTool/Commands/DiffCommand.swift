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
    var changes: [(path: String, before: JSONValue?, after: JSONValue?)] = []
    compare(states[0], states[1], at: "", into: &changes)
    let answer: JSONValue = [
      "subject": .string(subject), "from": .integer(versions[0]), "to": .integer(versions[1]),
      "changes": .array(
        changes.map { change in
          .members(["path": .string(change.path), "before": change.before, "after": change.after])
        }),
    ]
    environment.show(answer, arguments) { _ in
      let style = environment.style
      let lines = changes.map { change in
        let before = change.before.map { "\n  " + style.red("- \($0.text.printable)") } ?? ""
        let after = change.after.map { "\n  " + style.green("+ \($0.text.printable)") } ?? ""
        return style.bold(change.path.printable) + before + after + "\n"
      }
      return lines.isEmpty ? "nothing changed\n" : lines.joined()
    }
    return .done
  }

  /// Adds the paths at which two values differ, down to the members that changed.
  private static func compare(
    _ before: JSONValue?, _ after: JSONValue?, at path: String,
    into changes: inout [(path: String, before: JSONValue?, after: JSONValue?)]
  ) {
    if before == after { return }
    if let old = before?.objectValue, let new = after?.objectValue {
      for name in Set(old.names).union(new.names).sorted() {
        compare(old[name], new[name], at: path.isEmpty ? name : "\(path).\(name)", into: &changes)
      }
      return
    }
    if let old = before?.arrayValue, let new = after?.arrayValue {
      for index in 0..<max(old.count, new.count) {
        compare(
          index < old.count ? old[index] : nil, index < new.count ? new[index] : nil, at: "\(path)[\(index + 1)]",
          into: &changes)
      }
      return
    }
    changes.append((path, before, after))
  }
}
