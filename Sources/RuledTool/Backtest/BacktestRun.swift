internal import Glibc
internal import RuledJournal
internal import RuledReplay
internal import RuledReports

/// Plays the events of a backtest on both sides, with progress, until they end or the user interrupts.
final class BacktestRun {
  /// Where the events come from.
  enum Events {
    /// From a file, to be played from empty states.
    case file(String)
    case journal(JournalBacktest)
  }

  private let events: Events
  private let rules: BacktestRules
  private let selection: SubjectSelection
  private let environment: ToolEnvironment
  private let watch: BacktestWatch
  private var found: JournalBacktest.Found?

  init(
    _ events: Events, _ rules: BacktestRules, _ selection: SubjectSelection, _ environment: ToolEnvironment,
    _ watch: BacktestWatch
  ) {
    self.events = events
    self.rules = rules
    self.selection = selection
    self.environment = environment
    self.watch = watch
  }

  var gaps: [JournalGap] { if case .journal(let journal) = events { journal.gaps } else { [] } }
  var result: ComparisonResult { (found?.comparison ?? Comparison()).result }

  /// Plays all events; false when the user interrupted.
  func play() throws -> Bool {
    defer { watch.clear() }
    let found =
      switch events {
      case .file(let path): try playFile(path)
      case .journal(let journal):
        try journal.play(
          load(warmsUp: true), threads: Self.processors,
          shouldContinue: { watch.shouldContinue(share: Double($0) / Double(max(journal.count, 1)), count: $0) })
      }
    self.found = found
    return found.isWhole
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
        load(warmsUp: true),
        shouldContinue: {
          !search.isComplete
            && watch.shouldContinue(share: Double($0) / Double(max(journal.count, 1)), count: $0)
        }, before: search.look)
    }
    return search.found
  }

  private func load(warmsUp: Bool) -> Replay.Rules {
    { [rules] in rules.load($0, warmsUp: warmsUp) }
  }

  /// How many processors there are; several play at once.
  private static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  // MARK: A file

  private func playFile(_ path: String) throws -> JournalBacktest.Found {
    // Standard input can't be read a second time, should its subjects turn out to depend on each other.
    let threads = path == "-" ? 1 : Self.processors
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
