package import RuledCore
internal import RuledEngine
internal import RuledLua

/// `rulectl test`: runs the tests of plugins, without a daemon.
package enum TestCommand: Command {
  /// Name, options and help.
  package static let spec = CommandSpec(
    "test", "Runs the tests of the plugins, without a daemon.",
    synopsis: ["[DIR] [--filter PATTERN] [--coverage] [--threshold PERCENT] [--json]"], optional: 1,
    completes: .folders,
    options: [
      OptionSpec(
        "filter", short: "f", value: "PATTERN",
        "Only tests whose name, plugin or file has PATTERN; '*' stands for any text."),
      OptionSpec("coverage", "Shows for each file how much of it ran, and the lines that did not."),
      OptionSpec("threshold", value: "PERCENT", "Fails when less than PERCENT of all lines ran; implies --coverage."),
      OptionSpec("json", "Prints the results as JSON."),
    ],
    details: """
      DIR is the rules folder, 'rules' by default, or one plugin's folder. All plugins are loaded, so that one plugin's
      events and messages reach the others. Each test has an empty store and a virtual clock. The exit code is 1 when a
      test failed or none ran, and 2 when a plugin does not load.
      """,
    examples: [
      .init("rulectl test", "all tests under rules/"),
      .init("rulectl test rules/greeter --filter 'once a day'", "some tests of one plugin"),
      .init("rulectl test --coverage --threshold 95", "all tests, and which lines of the rules they ran"),
    ])

  /// Runs the tests and prints their results.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let threshold = try arguments.integer("threshold", in: 0...100)
    let selection = try RulesSelection(arguments.operand(0) ?? "rules")
    let measuresCoverage = arguments.has("coverage") || threshold != nil
    let started = EngineClock.monotonic
    let run: TestRun
    do {
      run = try TestRun(selection, filter: arguments.value("filter"), measuresCoverage: measuresCoverage)
    } catch let error as ReloadError {
      for error in error.errors { environment.errors.write("rulectl: \(error.description.printable)\n") }
      return .failed
    }
    let seconds = Double(EngineClock.monotonic - started) / 1e9
    let covered = CoveredFile.percent(run.covered)
    let isBelowThreshold = threshold.map { covered < Double($0) } ?? false
    if arguments.has("json") {
      environment.print(json: json(run, withCoverage: measuresCoverage))
    } else {
      let report = TestReport(run, style: environment.style)
      environment.output.write(report.text(seconds: seconds))
      if measuresCoverage { environment.output.write(report.coverage) }
    }
    environment.output.flush()
    if run.results.isEmpty {
      let filter = arguments.value("filter").map { " whose name, plugin or file has '\($0)'" } ?? ""
      throw ToolError("there is no test\(filter) in \(selection.root); tests are in <plugin>/tests/*.lua", exit: .no)
    }
    if isBelowThreshold, let threshold {
      throw ToolError("the tests ran \(covered) % of the lines, less than \(threshold) %", exit: .no)
    }
    return run.failed > 0 ? .no : .done
  }

  private static func json(_ run: TestRun, withCoverage: Bool) -> JSONValue {
    var object: JSONObject = [
      "passed": .integer(Int64(run.results.count - run.failed)), "failed": .integer(Int64(run.failed)),
      "tests": .array(run.results.map(\.json)),
    ]
    if withCoverage {
      object["coverage"] = [
        "percent": .number(CoveredFile.percent(run.covered)), "files": .array(run.covered.map(\.json)),
      ]
    }
    return .object(object)
  }
}

/// Writes a test run for people: one line for each plugin, and each failure with what was expected.
private struct TestReport {
  private let run: TestRun
  private let style: Style

  init(_ run: TestRun, style: Style) {
    self.run = run
    self.style = style
  }

  /// Plugins, failures and totals.
  func text(seconds: Double) -> String {
    guard !run.results.isEmpty else { return "" }
    var text = ""
    var plugins: [String] = []
    for result in run.results where plugins.last != result.plugin { plugins.append(result.plugin) }
    let width = plugins.map(\.count).max() ?? 0
    for plugin in plugins {
      let results = run.results.filter { $0.plugin == plugin }
      let failed = results.filter { $0.failure != nil }
      let name = plugin.printable + String(repeating: " ", count: width - plugin.count)
      let passed = "\(Figures.count(results.count - failed.count)) passed"
      text += "\(style.bold(name))  \(failed.isEmpty ? style.green(passed) : passed)"
      text += failed.isEmpty ? "\n" : ", \(style.red("\(Figures.count(failed.count)) failed"))\n"
      for result in failed { text += describe(result) }
    }
    let passed = run.results.count - run.failed
    let totals = "\(Figures.count(passed, "test")) passed, \(Figures.count(run.failed)) failed"
    return text + "\n" + (run.failed > 0 ? style.red(totals) : style.green(totals))
      + " in \(Figures.micros(seconds * 1e6))\n"
  }

  private func describe(_ result: TestResult) -> String {
    guard let failure = result.failure else { return "" }
    let location = "\(failure.file ?? result.file):\(failure.line ?? result.line)"
    var text = "\n  \(style.red("FAIL")) \(result.name.printable)  \(style.dim(location.printable))\n"
    for line in failure.message.split(separator: "\n", omittingEmptySubsequences: false) {
      text += "    \(String(line).printable)\n"
    }
    return text + "\n"
  }

  /// A table of how much of each file ran.
  var coverage: String {
    var table = Table(["FILE": .left, "LINES": .right, "RAN": .right, "%": .right, "NEVER RAN": .left])
    for file in run.covered {
      table.add([file.path, "\(file.lines)", "\(file.lines - file.missed.count)", "\(file.percent)", file.missedText])
    }
    let lines = run.covered.reduce(0) { $0 + $1.lines }
    let ran = lines - run.covered.reduce(0) { $0 + $1.missed.count }
    table.add(["all", "\(lines)", "\(ran)", "\(CoveredFile.percent(run.covered))", ""])
    return "\n" + table.text(style)
  }
}
