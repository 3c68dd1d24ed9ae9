internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// `rulectl test`: runs the tests of plugins, without a daemon.
package enum TestCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "test", "Runs the tests of the plugins, without a daemon.",
    synopsis: ["[DIR] [--filter PATTERN] [--coverage] [--threshold PERCENT] [--json]"], optional: 1,
    completes: .folders,
    options: [
      OptionSpec(
        "filter", short: "f", value: "PATTERN", "Only tests whose name, plugin or file has PATTERN; '*' is any text."),
      OptionSpec("coverage", "Shows for each file how much of it ran, and the lines that did not."),
      OptionSpec("threshold", value: "PERCENT", "Fails when less than PERCENT of all lines ran; implies --coverage."),
      OptionSpec("json", "Prints the results as JSON."),
    ],
    details: """
      DIR is the rules folder, 'rules' by default, or one plugin's folder. All plugins are loaded, so that what one of
      them raises or sends reaches the others. Each test has a fresh store and a virtual clock. The exit code is 1 when a
      test failed or none ran, and 2 when a plugin does not load.
      """,
    examples: [
      .init("rulectl test", "all tests under rules/"),
      .init("rulectl test rules/greeter --filter 'once a day'", "some tests of one plugin"),
      .init("rulectl test --coverage --threshold 95", "and how much of the rules they ran"),
    ])

  /// Runs them.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let threshold = try arguments.integer("threshold", in: 0...100)
    let place = try RulesPlace(arguments.operand(0) ?? "rules")
    let covers = arguments.has("coverage") || threshold != nil
    let started = EngineClock.monotonic
    let run: TestRun
    do {
      run = try TestRun(place, filter: arguments.value("filter"), covers: covers)
    } catch let error as ReloadError {
      for error in error.errors { environment.errors.write("rulectl: \(error.description.printable)\n") }
      return .failed
    }
    let seconds = Double(EngineClock.monotonic - started) / 1e9
    let covered = CoveredFile.percent(run.covered)
    let isShort = threshold.map { covered < Double($0) } ?? false
    if arguments.has("json") {
      environment.print(json: json(run, covers: covers))
    } else {
      let report = TestReport(run, style: environment.style)
      environment.output.write(report.text(seconds: seconds))
      if covers { environment.output.write(report.coverage) }
    }
    environment.output.flush()
    if run.results.isEmpty {
      let filter = arguments.value("filter").map { " whose name, plugin or file has '\($0)'" } ?? ""
      throw ToolError("there is no test\(filter) in \(place.root); tests stand in <plugin>/tests/*.lua", exit: .no)
    }
    if isShort, let threshold {
      throw ToolError("the tests ran \(covered) % of the lines, less than \(threshold) %", exit: .no)
    }
    return run.failed > 0 ? .no : .done
  }

  private static func json(_ run: TestRun, covers: Bool) -> JSONValue {
    var object: JSONObject = [
      "passed": .integer(Int64(run.results.count - run.failed)), "failed": .integer(Int64(run.failed)),
      "tests": .array(run.results.map(\.json)),
    ]
    if covers {
      object["coverage"] = [
        "percent": .number(CoveredFile.percent(run.covered)), "files": .array(run.covered.map(\.json)),
      ]
    }
    return .object(object)
  }
}
