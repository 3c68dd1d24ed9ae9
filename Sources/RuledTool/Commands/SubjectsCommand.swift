internal import RuledCore

/// `rulectl subjects`: the subjects that something is held on.
package enum SubjectsCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "subjects", "Lists the subjects that something is held on, one a line.",
    synopsis: ["[--prefix PREFIX] [--limit N] [--after NEXT] [--all]"],
    options: [OptionSpec("prefix", value: "PREFIX", "Lists subjects that begin with this.")] + Pages.options + [.json],
    examples: [
      .init("rulectl subjects --prefix user: --all | wc -l", "how many users"),
      .init("rulectl subjects --limit 10 --json", "a page with what comes next"),
    ])

  /// Lists them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    var params = JSONObject()
    params["prefix"] = arguments.value("prefix").map(JSONValue.string)
    let page = try Pages.read("subjects", "subjects", params, arguments, environment.connect())
    if arguments.has("json") {
      environment.print(json: page)
      return .done
    }
    let subjects = page.member("subjects")?.arrayValue ?? []
    for subject in subjects { environment.output.write(subject.brief.printable + "\n") }
    if subjects.isEmpty { environment.errors.write("no subjects\n") }
    Pages.hint(page, shown: subjects.count, environment)
    return .done
  }
}
