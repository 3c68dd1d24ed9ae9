package import RuledCore
internal import RuledReports

/// `rulectl revisions`: the revisions of the rules that the daemon keeps.
package enum RevisionsCommand: Command {
  package static let spec = CommandSpec(
    "revisions", "Lists the revisions of the rules, shows one, or compares two.",
    synopsis: ["", "show REVISION", "diff OLD NEW"], optional: 3, completes: .words(["show", "diff"]),
    options: [.json],
    details: """
      The latest revision comes first. The daemon keeps the last 100, and those that the journal names.
      'show' prints the files of a revision, and 'diff' how those of two differ, as 'diff -u' does.
      """,
    examples: [
      .init("rulectl revisions", "when they were loaded, from where, and what changed"),
      .init("rulectl revisions diff 0485f5aa48c0df85 9c0d5f3b2a617e44", "what was changed in the rules"),
    ])

  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    switch (arguments.operand(0), arguments.operands.count) {
    case (nil, _):
      let revisions = try environment.connect().call("revisions", [:])
      environment.show(revisions, arguments) { list($0.arrayValue ?? [], environment.style) }
    case ("show", 2):
      let revision = try environment.connect().call("revision", ["revision": .string(arguments.operands[1])])
      environment.show(revision, arguments) { files($0, environment.style) }
    case ("diff", 3):
      let client = try environment.connect()
      let (old, new) = (arguments.operands[1], arguments.operands[2])
      let difference = difference(
        try client.call("revision", ["revision": .string(old)]), try client.call("revision", ["revision": .string(new)])
      )
      environment.show(["old": .string(old), "new": .string(new), "diff": .string(difference)], arguments) { _ in
        difference
      }
    default: throw UsageError("write 'rulectl revisions', 'revisions show REVISION' or 'revisions diff OLD NEW'")
    }
    return .done
  }

  private static func list(_ revisions: [JSONValue], _ style: Style) -> String {
    var table = Table(["REVISION": .left, "LOADED": .left, "SOURCE": .left, "": .left, "CHANGED": .left])
    for revision in revisions {
      let isPinned = revision.member("pinned")?.boolValue == true
      table.add([
        revision.member("revision")?.brief ?? "?", revision.member("loaded_at")?.brief ?? "-",
        revision.member("source")?.brief ?? "-",
        isPinned ? "pinned" : revision.member("live")?.boolValue == true ? "live" : "",
        revision.elements("changed").map(\.brief).joined(separator: ", "),
      ])
    }
    return revisions.isEmpty ? "no revisions are kept\n" : table.text(style)
  }

  /// The text of a file; of one that is no UTF-8, its bytes in hexadecimal digits.
  private static func text(_ file: JSONValue) -> String {
    file.member("text")?.stringValue ?? (file.member("hex")?.stringValue.map { "\($0)\n" } ?? "")
  }

  private static func files(_ revision: JSONValue, _ style: Style) -> String {
    revision.elements("files").map { file in
      let content = text(file)
      let lines = content.split(separator: "\n", omittingEmptySubsequences: false).dropLast(
        content.hasSuffix("\n") ? 1 : 0)
      return style.bold("==> \(file.member("path")?.brief.printable ?? "?") <==") + "\n"
        + lines.map { "\(String($0).printable)\n" }.joined()
    }.joined(separator: "\n")
  }

  /// How the files and the configuration of two revisions differ.
  private static func difference(_ old: JSONValue, _ new: JSONValue) -> String {
    func texts(_ revision: JSONValue) -> [String: String] {
      var texts = Dictionary(
        revision.elements("files").map { ($0.member("path")?.stringValue ?? "", text($0)) }
      ) { first, _ in first }
      if let configuration = revision.member("configuration"), configuration.objectValue?.isEmpty == false {
        texts["configuration"] = configuration.prettyText() + "\n"
      }
      return texts
    }
    let (old, new) = (texts(old), texts(new))
    return Set(old.keys).union(new.keys).sorted().map { UnifiedDiff.text(old[$0], new[$0], path: $0) }.joined()
  }
}

/// `rulectl rollback`: puts an earlier revision in force.
package enum RollbackCommand: Command {
  package static let spec = CommandSpec(
    "rollback", "Puts an earlier revision of the rules in force, and pins it.",
    synopsis: ["[REVISION]"], optional: 1, options: [.json],
    details: """
      Without REVISION, the one that was in force before the live one. It has the settings that were configured then.
      The daemon does not read the rules folder, also after a restart, until 'rulectl unpin'.
      """,
    examples: [.init("rulectl rollback", "back to the rules before the last change")])

  /// Asks for the revision and prints what is in force.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call(
      "rollback", .members(["revision": arguments.operand(0).map(JSONValue.string)]))
    environment.show(result, arguments) { result in
      let revision = result.member("revision")?.brief.printable ?? "?"
      let verb = result.member("changed")?.boolValue == true ? "serves now" : "serves already"
      return "revision \(revision) \(verb) and is pinned: the rules folder is not read until 'rulectl unpin'\n"
    }
    return .done
  }
}

/// `rulectl unpin`: reads the rules folder again after a rollback.
package enum UnpinCommand: Command {
  package static let spec = CommandSpec(
    "unpin", "Reads the rules folder again after a rollback.", options: [.json],
    details: "When the rules in the folder do not load, the pinned ones keep serving, and the exit code is 1.",
    examples: [.init("rulectl unpin", "once the folder has the right rules")])

  /// Asks for it and prints the revision.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let result = try environment.connect().call("unpin", [:])
    environment.show(result, arguments) { result in
      "the rules folder is read again: revision \(result.member("revision")?.brief.printable ?? "?") serves\n"
    }
    return .done
  }
}
