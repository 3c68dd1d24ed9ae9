internal import RuledCore
internal import RuledReports

enum RevisionsCommand: Command {
  static let spec = CommandSpec(
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

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    switch (arguments.operand(0), arguments.operands.count) {
    case (nil, _):
      return try environment.answer("revisions", [:], arguments) { list($0.arrayValue ?? [], environment.style) }
    case ("show", 2):
      let params: JSONValue = ["revision": .string(arguments.operands[1])]
      return try environment.answer("revision", params, arguments) { files($0, environment.style) }
    case ("diff", 3):
      let client = try environment.connect()
      let (old, new) = (arguments.operands[1], arguments.operands[2])
      let difference = difference(
        try client.call("revision", ["revision": .string(old)]), try client.call("revision", ["revision": .string(new)])
      )
      return environment.show(["old": .string(old), "new": .string(new), "diff": .string(difference)], arguments) { _ in
        difference.printableLines
      }
    default: throw UsageError("write 'rulectl revisions', 'revisions show REVISION' or 'revisions diff OLD NEW'")
    }
  }

  private static func list(_ revisions: [JSONValue], _ style: Style) -> String {
    let columns = Table(["REVISION", "LOADED", "SOURCE", "", "CHANGED"])
    return columns.rows(revisions) { revision in
      let isPinned = revision.member("pinned")?.boolValue == true
      return [
        revision.word("revision"), revision.word("loaded_at", else: "-"), revision.word("source", else: "-"),
        isPinned ? "pinned" : revision.member("live")?.boolValue == true ? "live" : "",
        revision.elements("changed").map(\.brief).joined(separator: ", "),
      ]
    }.text(style, empty: "no revisions are kept\n")
  }

  /// The text of a file; of one that is no UTF-8, its bytes in hexadecimal digits.
  private static func text(_ file: JSONValue) -> String {
    file.member("text")?.stringValue ?? (file.member("hex")?.stringValue.map { "\($0)\n" } ?? "")
  }

  private static func files(_ revision: JSONValue, _ style: Style) -> String {
    revision.elements("files").map { file in
      let content = text(file).printableLines
      return style.bold("==> \(file.word("path").printable) <==") + "\n" + content
        + (content.isEmpty || content.hasSuffix("\n") ? "" : "\n")
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
