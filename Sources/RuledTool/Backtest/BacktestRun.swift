internal import RuledCore
internal import RuledJournal
internal import RuledReplay
internal import RuledReports

/// Plays the events of a backtest on both sides, with progress, until they end or the user interrupts.
struct BacktestRun {
  /// Where the events come from.
  enum Events {
    /// From a file, to be played from empty states.
    case file(String)
    case journal(JournalBacktest)
  }

  let events: Events
  let rules: BacktestRules
  let selection: SubjectSelection
  let environment: ToolEnvironment
  let watch: BacktestWatch

  var gaps: [JournalGap] { if case .journal(let journal) = events { journal.gaps } else { [] } }

  /// Plays all events, or those until the user interrupts.
  func play() throws -> JournalBacktest.Found {
    defer { watch.clear() }
    switch events {
    case .file(let path): return try playFile(path)
    case .journal(let journal):
      return try journal.play(
        load(warmsUp: true), threads: ToolEnvironment.processors, shouldContinue: { shouldContinue(journal, $0) })
    }
  }

  /// Plays the events once more to explain some that came out differently; none where they can't be read twice.
  func examples(of result: ComparisonResult) throws -> [BacktestExample] {
    if case .file("-") = events { return [] }
    defer { watch.clear() }
    let search = ExampleSearch(for: result)
    guard !search.isComplete else { return [] }
    switch events {
    case .file(let path):
      try backtest(of: EventLines(path, environment)).withSides(load(warmsUp: false)) { sides in
        _ = try forEachEvent(of: path, { !search.isComplete }) { entry in
          try search.look(at: entry, sides)
          try sides.play(entry, isCompared: true)
          return true
        }
      }
    case .journal(let journal):
      try journal.playInOrder(
        load(warmsUp: true), shouldContinue: { !search.isComplete && shouldContinue(journal, $0) },
        before: search.look)
    }
    return search.found
  }

  private func load(warmsUp: Bool) -> Sides.Load {
    { [rules] worker throws(RequestError) in try rules.load(worker, warmsUp: warmsUp) }
  }

  private func shouldContinue(_ journal: JournalBacktest, _ played: Int) -> Bool {
    watch.shouldContinue(share: Double(played) / Double(max(journal.count, 1)), count: played)
  }

  // MARK: A file

  private func playFile(_ path: String) throws -> JournalBacktest.Found {
    // Standard input can't be read a second time, should its subjects turn out to depend on each other.
    let threads = path == "-" ? 1 : ToolEnvironment.processors
    return try backtest(of: EventLines(path, environment)).play(load(warmsUp: false), threads: threads) { play in
      try forEachEvent(of: path, { true }, play)
    }
  }

  private func backtest(of lines: EventLines) -> EventsBacktest {
    EventsBacktest(temporary: BacktestSource.temporary, count: lines.estimate)
  }

  /// Calls `play` with each chosen event of a file until it, `shouldContinue` or the user ends it; whether these were all events.
  private func forEachEvent(
    of path: String, _ shouldContinue: () -> Bool, _ play: (JournalEntry) throws -> Bool
  ) throws -> Bool {
    var lines = try EventLines(path, environment)
    var played = 0
    while let entry = try lines.next() {
      if played & 255 == 0, !shouldContinue() || !watch.shouldContinue(share: lines.share, count: played) {
        return false
      }
      guard selection.contains(entry.subject) else { continue }
      guard try play(entry) else { return true }
      played += 1
    }
    return true
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
