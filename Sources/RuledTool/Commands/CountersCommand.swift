internal import RuledCore
internal import RuledReports

enum CountersCommand: Command {
  static let spec = CommandSpec(
    "counters", "Shows the counters of the rules.",
    synopsis: ["[PREFIX] [label=value …]"], optional: CommandSpec.any, options: [.json],
    details: "Shows the counters whose names begin with PREFIX and that have all the labels given.",
    examples: [
      .init("rulectl counters", "all counters"),
      .init("rulectl counters attribution. platform=ios", "those of one plugin with a label"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var words = arguments.operands[...]
    var prefix: String?
    if let first = words.first, KeyValue(first) == nil { prefix = words.removeFirst() }
    return try environment.answer(
      "counters", .members(["prefix": prefix.map(JSONValue.string), "labels": KeyValue.object(words)]), arguments
    ) { text($0.arrayValue ?? [], environment.style) }
  }

  private static func text(_ counters: [JSONValue], _ style: Style) -> String {
    Table(["NAME", ">VALUE", "LABELS"]).rows(counters) { counter in
      let labels = counter.member("labels")?.objectValue?.members ?? []
      let value = counter.member("value")
      return [
        counter.word("name"), value?.intValue.map { Figures.count(Int($0)) } ?? value?.brief ?? "-",
        labels.map { "\($0.name)=\($0.value.brief)" }.joined(separator: " "),
      ]
    }.text(style, empty: "no counters\n")
  }
}
