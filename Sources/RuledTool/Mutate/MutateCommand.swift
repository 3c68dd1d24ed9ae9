internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledReports

enum MutateCommand: Command {
  static let spec = CommandSpec(
    "mutate", "Changes the rules one place at a time, and says which changes no test notices.",
    synopsis: ["[DIR…] [--file TEXT] [--filter PATTERN] [--threshold PERCENT] [--jobs N] [--json]"],
    optional: CommandSpec.any, completes: .folders,
    options: [
      OptionSpec("file", value: "TEXT", "Changes only files whose path has TEXT."),
      OptionSpec("filter", short: "f", value: "PATTERN", "Runs only tests whose name, plugin or file has PATTERN."),
      OptionSpec("threshold", value: "PERCENT", "Fails when tests notice less than PERCENT of the changes."),
      OptionSpec(
        "jobs", short: "j", value: "N", "Tries N changes at a time; by default as many as there are processors."),
      OptionSpec("json", "Prints every change with its result as JSON."),
    ],
    details: """
      DIR is the rules folder, 'rules' by default, or plugins' folders in it. One at a time, operators are replaced (== by
      ~=, < by <=, and by or, + by -), constants changed (true to false, 1 to 2), and the conditions of if made true and
      false. For each change the tests run that reach it, until one fails. A change that no test notices is printed: a
      test is missing, or the code does nothing. The rules on disk stay as they are. A change that makes a test run on and
      on is stopped and counts as noticed. The exit code is 1 when tests fail without a change, or below the threshold.
      """,
    examples: [
      .init("rulectl mutate rules/greeter", "what the tests of one plugin do not notice"),
      .init("rulectl mutate --threshold 90", "for CI: at least 90 % of all changes are noticed"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let selection = try RulesSelection(arguments.operands, libraryTests: true)
    let threshold = try arguments.integer("threshold", in: 0...100)
    var options = TestOptions(root: selection.root, filter: arguments.value("filter"))
    options.jobs = try arguments.integer("jobs", in: 1...256) ?? ToolEnvironment.processors
    let started = EngineClock.monotonic
    let showsProgress = environment.showsProgress
    let run = try MutationRun(selection, options, files: arguments.value("file")) { done, all in
      guard showsProgress, done % 20 == 0 || done == all else { return }
      let text = "\r\(done) of \(all) changes tried" + (done == all ? "\n" : "")
      _ = text.utf8.withContiguousStorageIfAvailable { Glibc.write(2, $0.baseAddress, $0.count) }
    }
    if let first = run.failing.first {
      throw ToolError(
        "\(Figures.count(run.failing.count, "test")) failed without a change, first '\(first.name)' of \(first.plugin); "
          + "run 'rulectl test'", exit: .no)
    }
    let seconds = Double(EngineClock.monotonic - started) / 1e9
    let report: JSONValue = ["percent": .number(run.percent), "changes": .array(run.results.map(\.json))]
    environment.show(report, arguments) { _ in text(run, seconds: seconds, environment.style) }
    environment.output.flush()
    guard !run.results.isEmpty else { throw ToolError("there is nothing to change in \(selection.root)", exit: .no) }
    if let threshold, run.percent < Double(threshold) {
      throw ToolError("the tests noticed \(run.percent) % of the changes, less than \(threshold) %", exit: .no)
    }
    return .done
  }

  private static func text(_ run: MutationRun, seconds: Double, _ style: Style) -> String {
    let missed = run.results.filter { !$0.isNoticed }.map { result in
      let why = result.end == .unreached ? "no test runs it" : "no test notices"
      let change = "\(result.mutant.file):\(result.mutant.line): \(result.mutant.text)".printable
      return "\(change)  \(style.dim(why))\n"
    }
    let plugins = Dictionary(grouping: run.results, by: \.plugin).sorted { $0.key < $1.key }
    let table = Table(["PLUGIN", ">CHANGES", ">NOTICED", ">%"])
      .rows(plugins + [("all", run.results)]) { name, results in
        let noticed = results.count(where: \.isNoticed)
        return [name, "\(results.count)", "\(noticed)", "\(CoveredFile.percent(noticed, of: results.count))"]
      }
    return missed.joined() + "\n\(table.text(style))in \(Figures.micros(seconds * 1e6))\n"
  }
}
