internal import RuledCore
internal import RuledLua
internal import RuledReplay
internal import RuledReports

enum BacktestCommand: Command {
  static let spec = CommandSpec(
    "backtest", "Plays past events through other rules, and says whom they change and how.",
    synopsis: [
      "DIR [--since 7d] [--until T] [--plugins a,b] [--subjects PREFIX] [--sample 10%]",
      "DIR --events FILE [--baseline DIR]",
    ],
    required: ["DIR"], completes: .folders,
    options: [
      OptionSpec("since", value: "WHEN", "Events since then: a time, or how long ago, such as 7d."),
      OptionSpec("until", value: "WHEN", "Events until then, likewise."),
      OptionSpec(
        "store", value: "DIR", "Reads the journal of the store in DIR, without a daemon.", completes: .folders),
      OptionSpec(
        "events", value: "FILE", "Plays the events of FILE, one a line, from empty states.", completes: .files),
      OptionSpec(
        "baseline", value: "DIR", "Compares with the rules in DIR, not with those in force.", completes: .folders),
      OptionSpec("plugins", value: "a,b", "Takes only these plugins from DIR, and all others from the baseline."),
      OptionSpec("subjects", value: "PREFIX", "Only subjects whose name begins with PREFIX."),
      OptionSpec("sample", value: "PERCENT", "Only a share of the subjects, the same ones each time."),
      OptionSpec("html", value: "FILE", "Writes a page with charts and explained examples.", completes: .files),
      OptionSpec(
        "fail-on", value: "CONDITION", "Exits with 1 if the condition holds, such as 'changed > 1%'.", repeats: true),
      OptionSpec("json", "Prints the report as JSON."),
    ],
    details: """
      Both sides play the same events from the same states, each in a world of its own: messages, timers and once happen
      in it, and nothing leaves it. The baseline is what the daemon has loaded or, without a daemon, 'rules'.

      Subjects that no message joins are played on all processors; the report is the same as on one. States that do not
      fit into memory are in TMPDIR until the end. Ctrl-C ends with the report of what was played until then.

      A CONDITION is \(FailCondition.grammar).
      'changed' and 'failures' are fractions of the events; 'effects' and 'instructions' are what the candidate has more, as
      a share of the baseline's. The exit code is 1 when a condition holds, and 2 after an interrupt.
      """,
    examples: [
      .init("rulectl backtest next --events day.ndjson", "what the rules in next/ make of a day of events"),
      .init("rulectl backtest next --since 7d --html report.html", "of the journal's last week, as a page"),
      .init("rulectl backtest next --fail-on 'failures > 0' --fail-on 'changed > 1%'", "a gate for CI"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let conditions = try (arguments.values["fail-on"] ?? []).map { text throws(UsageError) in try FailCondition(text) }
    let selection = try SubjectSelection(arguments)
    let source = try BacktestSource(arguments, environment)
    let rules = try BacktestRules(arguments, live: source.live)
    let watch = BacktestWatch(environment)
    let (backtest, file) = try source.backtest(selection, environment) { watch.shouldContinue(share: nil, count: $0) }
    let isReadOnce = file?.isReadOnce == true
    let load = rules.loading(warmsUp: file == nil)
    func shouldContinue(_ played: Int) -> Bool {
      let share = if let file { file.share } else { Double(played) / Double(max(backtest.count, 1)) }
      return watch.shouldContinue(share: share, count: played)
    }
    defer { watch.clear() }
    let found = try backtest.play(
      load, threads: isReadOnce ? 1 : ToolEnvironment.processors, shouldContinue: shouldContinue)
    watch.clear()
    let (result, loaded) = (found.comparison, try load(LuaWorker()))
    let report = result.json(
      baseline: loaded.baseline.revision, candidate: loaded.candidate.revision, gaps: backtest.gaps,
      folder: rules.folder, conditions: conditions)
    environment.show(report, arguments) { BacktestText(report: $0, result: result, style: environment.style).text }
    if let path = arguments.value("html") {
      let examples =
        found.isWhole && !isReadOnce
        ? try ExampleSearch.examples(of: result, in: backtest, load, shouldContinue: shouldContinue) : []
      watch.clear()
      // The page has subjects and the decisions on them.
      try WholeFile.write(Array(BacktestPage(report, result, examples).text.utf8), to: path, forOwner: true)
    }
    guard found.isWhole else {
      let count = Figures.count(watch.count, "event")
      environment.errors.write("interrupted: the report is of what was played until then, \(count)\n")
      return .failed
    }
    let exceeded = report.elements("exceeded")
    // A terminal shows it with the report already.
    if !environment.output.isTerminal || arguments.has("json") {
      for condition in exceeded { environment.errors.write("exceeded: \(condition.brief)\n") }
    }
    return exceeded.isEmpty ? .done : .no
  }
}

/// Shows how far a backtest is, and notices that the user interrupts it.
final class BacktestWatch {
  private let interrupt = Interrupt()
  private var progress: Progress
  /// How many events were played when it was asked last.
  private(set) var count = 0

  init(_ environment: ToolEnvironment) { progress = Progress(environment) }

  deinit { interrupt.end() }

  /// Shows how many events were read or played; false once the user has interrupted.
  func shouldContinue(share: Double?, count: Int) -> Bool {
    self.count = count
    progress.show(share: share, count: count, "event")
    return !interrupt.hasCome
  }

  func clear() { progress.clear() }
}
