internal import RuledCore
internal import RuledEngine
internal import RuledJournal
internal import RuledLua
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

  /// How many events are played between two looks at the clock and at an interrupt.
  private static let stride = 256

  private let events: Events
  private let rules: BacktestRules
  private let selection: SubjectSelection
  private let environment: ToolEnvironment
  private let worker = LuaWorker()
  private let interrupt = Interrupt()
  private var progress: Progress
  /// The sides that were played.
  private var sides: Sides?

  /// A run that has not begun.
  init(_ events: Events, _ rules: BacktestRules, _ selection: SubjectSelection, _ environment: ToolEnvironment) {
    self.events = events
    self.rules = rules
    self.selection = selection
    self.environment = environment
    progress = Progress(environment)
  }

  deinit { interrupt.end() }

  /// The parts of the history that are missing.
  var gaps: [JournalGap] { if case .journal(let journal) = events { journal.gaps } else { [] } }

  /// What was compared so far.
  var result: ComparisonResult { (sides?.comparison ?? Comparison()).result }

  /// Plays all events; false when the user interrupted.
  func play() throws -> Bool {
    defer { progress.clear() }
    return try play(onSides: { sides = $0 })
  }

  /// Plays the events once more to explain some of those that came out differently; none where they can't be read twice.
  func examples(of result: ComparisonResult) throws -> [BacktestExample] {
    if case .file("-") = events { return [] }
    defer { progress.clear() }
    let wanted = BacktestExample.wanted(by: result)
    let subjects = Set(wanted.map(\.subject))
    var found: [BacktestExample] = []
    guard !wanted.isEmpty else { return [] }
    _ = try play(
      until: { found.count == wanted.count },
      before: { (entry, sides) throws(RequestError) in
        guard subjects.contains(entry.subject) else { return }
        let id = EventText.id(entry.event)
        guard wanted.contains(where: { $0.subject == entry.subject && $0.event == id }) else { return }
        let explained = try sides.explain(entry)
        found.append(
          BacktestExample(
            subject: entry.subject, event: id, type: EventText.type(entry.event), baseline: explained.baseline,
            candidate: explained.candidate))
      })
    return found
  }

  private func play(
    onSides: (Sides) -> Void = { _ in }, until isDone: () -> Bool = { false },
    before: (JournalEntry, Sides) throws(RequestError) -> Void = { _, _ in }
  ) throws -> Bool {
    switch events {
    case .file(let path):
      let catalogs = Sides.Rules(baseline: try rules.loadBaseline(worker), candidate: try rules.loadCandidate(worker))
      let lines = try EventLines(path, environment)
      let sides = try Sides(catalogs, lua: worker, events: lines.estimate)
      onSides(sides)
      return try play(lines, sides, until: isDone, before: before)
    case .journal(let journal):
      let catalogs = Sides.Rules(
        baseline: try rules.loadBaseline(worker), warmUp: try rules.loadBaseline(worker),
        candidate: try rules.loadCandidate(worker))
      return try journal.play(
        catalogs, lua: worker,
        goesOn: { played in
          progress.show(share: Double(played) / Double(max(journal.count, 1)), count: played, "event")
          return !interrupt.hasCome && !isDone()
        }, onSides: onSides, before: before)
    }
  }

  private func play(
    _ lines: EventLines, _ sides: Sides, until isDone: () -> Bool,
    before: (JournalEntry, Sides) throws(RequestError) -> Void
  ) throws -> Bool {
    var lines = lines
    var played = 0
    var end: Timestamp?
    while let entry = try lines.next() {
      if played % Self.stride == 0 {
        guard !interrupt.hasCome, !isDone() else { return false }
        progress.show(share: lines.share, count: played, "event")
      }
      guard selection.contains(entry.subject) else { continue }
      try before(entry, sides)
      try sides.play(entry, isRecorded: false)
      end = max(end ?? entry.at, entry.at)
      played += 1
    }
    if let end { try sides.finish(at: end) }
    return true
  }
}
