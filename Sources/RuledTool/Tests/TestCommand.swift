internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// `rulectl test`: runs the tests of plugins, without a daemon.
enum TestCommand: Command {
  static let spec = CommandSpec(
    "test", "Runs the tests of the plugins, without a daemon.",
    synopsis: ["[DIR…] [--filter PATTERN] [--coverage] [--threshold PERCENT] [--watch] [--json]"],
    optional: CommandSpec.any, completes: .folders,
    options: [
      OptionSpec(
        "filter", short: "f", value: "PATTERN",
        "Only tests whose name, plugin or file has PATTERN; '*' stands for any text."),
      OptionSpec("coverage", "Shows for each file which lines, functions and branches ran, and what did not."),
      OptionSpec(
        "threshold", value: "PERCENT",
        "Fails when less than PERCENT of all lines, functions and branches ran; implies --coverage."),
      OptionSpec("watch", short: "w", "Runs the tests again whenever a file changes, until Ctrl-C."),
      OptionSpec("jobs", short: "j", value: "N", "Runs N tests at a time; 1 by default."),
      OptionSpec("seed", value: "N", "The seed of t:property, to repeat a failure; a random one by default."),
      OptionSpec("update-snapshots", "Writes the snapshots of t:snapshot and does not compare them."),
      OptionSpec("junit", value: "FILE", "Writes the results as JUnit XML, too.", completes: .files),
      OptionSpec("json", "Prints the results as JSON."),
    ],
    details: """
      DIR is the rules folder, 'rules' by default, or plugins' folders in it. All plugins are loaded, so that one plugin's
      events and messages reach the others. Each test has an empty store and a virtual clock. A test fails, too, when a
      rule fails and the test neither reads the outcome's failures nor takes them with t:failures. The exit code is 1 when
      a test failed or none ran, and 2 when a plugin does not load.
      """,
    examples: [
      .init("rulectl test", "all tests under rules/"),
      .init("rulectl test rules/greeter --filter 'once a day'", "some tests of one plugin"),
      .init("rulectl test --watch rules/greeter", "one plugin's tests after each change"),
      .init("rulectl test --coverage --threshold 95", "all tests, and what of the rules they ran"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let selection = try RulesSelection(arguments.operands, libraryTests: true)
    var options = TestOptions(root: selection.root, filter: arguments.value("filter"))
    let threshold = try arguments.integer("threshold", in: 0...100)
    options.measuresCoverage = arguments.has("coverage") || threshold != nil
    options.updatesSnapshots = arguments.has("update-snapshots")
    options.jobs = try arguments.integer("jobs", in: 1...256) ?? 1
    options.seed = UInt32(
      try arguments.integer("seed", in: 0...Int(UInt32.max)) ?? Int(UInt32.random(in: 0...UInt32.max)))
    guard arguments.has("watch") else {
      return try run(selection, options, threshold: threshold, arguments, environment)
    }
    let interrupt = Interrupt()
    defer { interrupt.end() }
    while !interrupt.hasCome {
      let changes = RulesChanges(selection)
      do { _ = try run(selection, options, threshold: threshold, arguments, environment) } catch {
        environment.report(error)
      }
      environment.errors.flush()
      while !interrupt.hasCome, !changes.haveCome { usleep(RulesChanges.interval) }
      environment.output.write("\n")
    }
    return .done
  }

  private static func run(
    _ selection: RulesSelection, _ options: TestOptions, threshold: Int?, _ arguments: Arguments,
    _ environment: ToolEnvironment
  ) throws -> ExitCode {
    let started = EngineClock.monotonic
    let run = try TestRun(selection, options)
    let seconds = Double(EngineClock.monotonic - started) / 1e9
    environment.show(json(run, withCoverage: options.measuresCoverage), arguments) { _ in
      TestReport(run: run, style: environment.style).text(seconds: seconds)
        + (options.measuresCoverage ? run.coverage.text(environment.style) : "")
    }
    environment.output.flush()
    if let path = arguments.value("junit") {
      try WholeFile.write(Array(JUnitReport.text(run, seconds: seconds).utf8), to: path)
    }
    if run.results.isEmpty {
      let filter = options.filter.map { " whose name, plugin or file has '\($0)'" } ?? ""
      throw ToolError("there is no test\(filter) in \(selection.root); tests are in <plugin>/tests/*.lua", exit: .no)
    }
    if let threshold, run.coverage.percent < Double(threshold) {
      throw ToolError(
        "the tests ran \(run.coverage.percent) % of the lines, functions and branches, less than \(threshold) %",
        exit: .no)
    }
    return run.failed > 0 ? .no : .done
  }

  private static func json(_ run: TestRun, withCoverage: Bool) -> JSONValue {
    var object: JSONObject = [
      "passed": .integer(Int64(run.results.count - run.failed)), "failed": .integer(Int64(run.failed)),
      "tests": .array(run.results.map(\.json)),
    ]
    if withCoverage { object["coverage"] = run.coverage.json }
    return .object(object)
  }
}

/// Tells when the files of a rules folder have changed.
struct RulesChanges {
  /// How often to look, in microseconds.
  static let interval: UInt32 = 200_000

  private let selection: RulesSelection
  private let files: [PluginSource]?

  /// From now on changes count.
  init(_ selection: RulesSelection) {
    self.selection = selection
    files = try? selection.read().plugins
  }

  /// Whether a file is another one than at the beginning.
  var haveCome: Bool { (try? selection.read().plugins) != files }
}
