internal import RuledCore
internal import RuledReports

enum TopicsCommand: Command {
  static let spec = CommandSpec(
    "topics", "Lists the topics of the rules.",
    synopsis: ["[PREFIX] [--limit N] [--after NEXT] [--all]"], optional: 1, options: PagedList.options + [.json],
    details: """
      Lists the topics whose names, PLUGIN/NAME, begin with PREFIX: their members, and how many publications are on their way to these.
      """,
    examples: [
      .init("rulectl topics", "all topics"), .init("rulectl topics social/", "those of one plugin"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var params = JSONObject()
    params["prefix"] = arguments.operand(0).map(JSONValue.string)
    return try PagedList.show("topics", params, arguments, environment) { text($0, environment.style) }
  }

  private static func text(_ topics: [JSONValue], _ style: Style) -> String {
    Table(["NAME", ">MEMBERS", ">PUBLICATIONS"]).rows(topics) { topic in
      let counts = ["members", "publications"].map { topic.member($0)?.intValue.map { Figures.count(Int($0)) } ?? "-" }
      return [topic.word("name").printable] + counts
    }.text(style, empty: "no topics\n")
  }
}
