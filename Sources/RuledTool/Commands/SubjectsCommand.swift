internal import RuledCore

enum SubjectsCommand: Command {
  static let spec = CommandSpec(
    "subjects", "Lists the subjects of which something is stored, one a line.",
    synopsis: ["[PATTERN | --prefix PREFIX] [--limit N] [--after NEXT] [--all]"], optional: 1,
    options: [OptionSpec("prefix", value: "PREFIX", "Lists only subjects that begin with PREFIX.")] + PagedList.options
      + [.json],
    details: """
      Lists the first \(Limits.listDefault), or as many as --limit says, or with --all every one.
      In PATTERN, * stands for any run of characters; quote it for the shell.
      """,
    examples: [
      .init("rulectl subjects 'user:*' --all | wc -l", "the number of users"),
      .init("rulectl subjects --limit 10 --json", "ten, and where the next page begins"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    guard let pattern = arguments.operand(0) else {
      return try PagedList.show("subjects", PagedList.params(["prefix"], arguments), arguments, environment) {
        text($0, environment)
      }
    }
    if arguments.has("prefix") { throw UsageError("give PATTERN or --prefix, not both") }
    let (found, isWhole) = try SubjectPattern(pattern).matches(
      after: arguments.value("after"), limit: PagedList.limit(arguments), environment.connect())
    var answer: JSONObject = ["subjects": .array(found)]
    if !isWhole { answer["next"] = found.last }
    environment.show(.object(answer), arguments) { _ in text(found, environment) }
    if !isWhole, !arguments.has("json"), let next = found.last { PagedList.tellMore(found.count, next, environment) }
    return .done
  }

  private static func text(_ subjects: [JSONValue], _ environment: ToolEnvironment) -> String {
    if subjects.isEmpty { environment.errors.write("no subjects\n") }
    return subjects.reduce(into: "") { $0 += $1.brief.printable + "\n" }
  }
}

/// A pattern for subjects, in which `*` stands for any run of characters.
struct SubjectPattern {
  private let glob: GlobPattern
  private let prefix: String

  init(_ text: String) {
    glob = GlobPattern(text)
    prefix = String(text.prefix { $0 != "*" })
  }

  /// The subjects that match, in order, `limit` at most, and whether these are all.
  func matches(after: String? = nil, limit: Int? = nil, _ client: Client) throws -> (found: [JSONValue], isWhole: Bool)
  {
    var params: JSONObject = ["prefix": .string(prefix)]
    params["after"] = after.map(JSONValue.string)
    var found: [JSONValue] = []
    var isWhole = true
    try PagedList.forEachPage("subjects", params, client) { page in
      for subject in page.elements("subjects") where glob.matches(subject.stringValue ?? "") {
        isWhole = found.count != limit
        guard isWhole else { return false }
        found.append(subject)
      }
      return true
    }
    return (found, isWhole)
  }
}
