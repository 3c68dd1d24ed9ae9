internal import Glibc
internal import RuledCore
internal import RuledEngine
internal import RuledJournal
internal import RuledReplay

/// Plays the events of a backtest on both sides, with progress, until they end or the user interrupts.
final class BacktestRun {
  /// Where the events come from.
  enum Events {
    /// From a file, to be played from empty states.
    case file(String)
    /// From a journal.
    case journal(JournalBacktest)
  }

  private let events: Events
  private let rules: BacktestRules
  private let selection: SubjectSelection
  private let environment: ToolEnvironment
  private let watch: BacktestWatch
  private var found: JournalBacktest.Found?

  /// A run that has not begun.
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

  /// The parts of the history that are missing.
  var gaps: [JournalGap] { if case .journal(let journal) = events { journal.gaps } else { [] } }

  /// What was compared so far.
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
          goesOn: { watch.goesOn(share: Double($0) / Double(max(journal.count, 1)), count: $0) })
      }
    self.found = found
    return found.isWhole
  }

  /// Plays the events once more to explain some of those that came out differently; none where they can't be read twice.
  func examples(of result: ComparisonResult) throws -> [BacktestExample] {
    if case .file("-") = events { return [] }
    defer { watch.clear() }
    let wanted = BacktestExample.wanted(by: result)
    let subjects = Set(wanted.map(\.subject))
    var found: [BacktestExample] = []
    guard !wanted.isEmpty else { return [] }
    let explain = { (entry: JournalEntry, sides: Sides) throws(RequestError) in
      guard subjects.contains(entry.subject) else { return }
      let id = EventText.id(entry.event)
      guard wanted.contains(where: { $0.subject == entry.subject && $0.event == id }) else { return }
      let explained = try sides.explain(entry)
      found.append(
        BacktestExample(
          subject: entry.subject, event: id, type: EventText.type(entry.event), baseline: explained.baseline,
          candidate: explained.candidate))
    }
    switch events {
    case .file(let path):
      try backtest(of: EventLines(path, environment)).look(load(warmsUp: false)) { sides in
        _ = try forEachEvent(of: path, { found.count < wanted.count }) { entry in
          try explain(entry, sides)
          try sides.play(entry, isCompared: true)
          return true
        }
      }
    case .journal(let journal):
      try journal.look(
        load(warmsUp: true),
        goesOn: {
          found.count < wanted.count
            && watch.goesOn(share: Double($0) / Double(max(journal.count, 1)), count: $0)
        }, before: explain)
    }
    return found
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

  /// Calls `play` with each chosen event of a file until it, `goesOn` or the user ends it; whether these were all events.
  private func forEachEvent(
    of path: String, _ goesOn: () -> Bool, _ play: (JournalEntry) throws -> Bool
  ) throws -> Bool {
    var lines = try EventLines(path, environment)
    var played = 0
    while let entry = try lines.next() {
      if played & 255 == 0, !goesOn() || !watch.goesOn(share: lines.share, count: played) { return false }
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

  /// A watch of a backtest that begins now.
  init(_ environment: ToolEnvironment) { progress = Progress(environment) }

  deinit { interrupt.end() }

  /// Shows how many events were read or played; false once the user has interrupted.
  func goesOn(share: Double?, count: Int) -> Bool {
    self.count = count
    progress.show(share: share, count: count, "event")
    return !interrupt.hasCome
  }

  /// Clears the line.
  func clear() { progress.clear() }
}
