internal import RuledCore
internal import RuledEngine
internal import RuledJournal
internal import RuledReplay

/// Plays the events of a backtest on both sides, with progress, until they end or the user interrupts.
struct BacktestRun {
  /// How many events are played between two looks at the clock and at an interrupt.
  private static let stride = 256

  /// The parts of the history that are missing.
  let gaps: [JournalGap] = []
  private let sides: Sides
  private let selection: BacktestSelection
  private var lines: EventLines
  private var progress: Progress

  /// A run that has not begun.
  init(
    _ arguments: Arguments, _ environment: ToolEnvironment, _ rules: BacktestRules, _ selection: BacktestSelection
  ) throws {
    guard let file = arguments.value("events") else { throw UsageError("give the events with --events FILE") }
    lines = try EventLines(file, environment)
    sides = try Sides(baseline: rules.baseline, candidate: rules.candidate, lua: rules.worker)
    self.selection = selection
    progress = Progress(environment)
  }

  /// What was compared so far.
  var comparison: Comparison { sides.comparison }

  /// Plays all events; false when the user interrupted.
  mutating func play() throws -> Bool {
    let interrupt = Interrupt()
    defer {
      interrupt.end()
      progress.clear()
    }
    var played = 0
    var end: Timestamp?
    while let entry = try lines.next() {
      if played % Self.stride == 0 {
        if interrupt.hasCome { return false }
        progress.show(share: lines.share, count: played, "event")
      }
      guard selection.contains(entry.subject) else { continue }
      try sides.play(entry, isRecorded: false)
      end = max(end ?? entry.at, entry.at)
      played += 1
    }
    if let end { try sides.finish(at: end) }
    return true
  }
}
