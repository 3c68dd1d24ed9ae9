internal import RuledCore
internal import RuledReplay
internal import RuledReports

/// Plays the events of a backtest on both sides, with progress, until they end or the user interrupts.
struct BacktestRun {
  let backtest: JournalBacktest
  /// The file that the events come from; nil for a journal.
  let file: EventLines?
  let rules: BacktestRules
  let watch: BacktestWatch

  /// Plays all events, or those until the user interrupts.
  func play() throws -> JournalBacktest.Found {
    defer { watch.clear() }
    return try backtest.play(
      load, threads: file?.isReadOnce == true ? 1 : ToolEnvironment.processors, shouldContinue: shouldContinue)
  }

  /// Plays the events once more to explain some that came out differently; none where they can't be read twice.
  func examples(of result: Comparison) throws -> [BacktestExample] {
    if file?.isReadOnce == true { return [] }
    defer { watch.clear() }
    return try ExampleSearch.examples(of: result, in: backtest, load, shouldContinue: shouldContinue)
  }

  private var load: Sides.Load {
    { [rules, warmsUp = file == nil] worker throws(RequestError) in try rules.load(worker, warmsUp: warmsUp) }
  }

  private func shouldContinue(_ played: Int) -> Bool {
    let share = if let file { file.share } else { Double(played) / Double(max(backtest.count, 1)) }
    return watch.shouldContinue(share: share, count: played)
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
