internal import RuledCore

enum QueryCommand: Command {
  static let spec = CommandSpec(
    "query", "Asks a plugin's query.",
    synopsis: ["PLUGIN.QUERY [SUBJECT] [key=value …]"], required: ["PLUGIN.QUERY"], optional: CommandSpec.any,
    options: [
      OptionSpec("subject", value: "SUBJECT", "The subject, if it contains '='."),
      OptionSpec("args", value: "JSON", "The query's arguments; key=value sets members of them."),
      OptionSpec("json", "Prints the answer on one line."),
    ],
    details: "'rulectl rules PLUGIN' lists a plugin's queries.",
    examples: [
      .init("rulectl query gamification.profile user:7", "a query on a subject"),
      .init("rulectl query analytics.kpis from=2025-11-01 to=2025-11-07", "one that takes no subject"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var words = arguments.operands.dropFirst()
    var subject = arguments.value("subject")
    if subject == nil, let first = words.first, KeyValue(first) == nil { subject = words.removeFirst() }
    let params = JSONValue.members([
      "subject": subject.map(JSONValue.string), "name": .string(arguments.operands[0]),
      "args": try KeyValue.value(of: "args", in: arguments, with: words),
    ])
    let answer = try environment.connect().call("query", params)
    environment.output.write((arguments.has("json") ? answer.text : answer.prettyText()) + "\n")
    return .done
  }
}
