internal import RuledCore
internal import RuledReports

enum ForgetCommand: Command {
  static let spec = CommandSpec(
    "forget", "Erases everything that is stored of a subject, or of all that match a pattern.",
    synopsis: ["SUBJECT", "PATTERN [--yes]"], required: ["SUBJECT"],
    options: [OptionSpec("yes", "Erases all that match a pattern without asking."), .json],
    details: """
      In a pattern, * stands for any run of characters; quote it for the shell. For a pattern it asks on a terminal, and
      needs --yes elsewhere. This cannot be undone; 'rulectl export SUBJECT' makes a copy first.
      """,
    examples: [
      .init("rulectl forget user:7", "erases it, and prints how much it was"),
      .init("rulectl forget 'test:*' --yes", "all subjects of a test"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let subject = arguments.operands[0]
    if subject.contains("*") { return try forget(matching: subject, arguments, environment) }
    return try environment.answer("forget", ["subject": .string(subject)], arguments) { result in
      let text = text(result.member("forgotten"))
      return text.isEmpty ? "nothing was stored of \(subject.printable)\n" : "forgot \(subject.printable): \(text)\n"
    }
  }

  private static func forget(
    matching pattern: String, _ arguments: Arguments, _ environment: ToolEnvironment
  ) throws -> ExitCode {
    let client = try environment.connect()
    let found = try SubjectPattern(pattern).matches(client).found
    guard !found.isEmpty else { throw ToolError("nothing is stored of a subject like '\(pattern)'", exit: .no) }
    let count = Figures.count(found.count, "subject")
    guard arguments.has("yes") || environment.input.isTerminal else {
      throw UsageError("\(count) match '\(pattern)'; give --yes to erase all that is stored of them")
    }
    let question = "erase all that is stored of \(count)? This cannot be undone."
    guard try environment.confirms(question, arguments, or: "nothing was erased") else { return .no }
    var sum = JSONObject()
    for subject in found {
      let forgotten = try client.call("forget", ["subject": subject]).member("forgotten")?.objectValue ?? JSONObject()
      for (name, value) in forgotten {
        sum[name] = .integer((sum[name]?.intValue ?? 0) + (value.intValue ?? 0))
      }
    }
    let answer: JSONValue = ["subjects": .integer(Int64(found.count)), "forgotten": .object(sum)]
    return environment.show(answer, arguments) { "forgot \(count): \(text($0.member("forgotten")))\n" }
  }

  /// The erased items, as `state 1, timers 2`; empty for none.
  private static func text(_ forgotten: JSONValue?) -> String {
    let counts = (forgotten?.objectValue?.members ?? []).filter { $0.value.intValue != 0 }
    return counts.map { "\($0.name.printable) \(Figures.count(Int($0.value.intValue ?? 0)))" }.joined(separator: ", ")
  }
}
