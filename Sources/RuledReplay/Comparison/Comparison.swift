package import RuledJournal

/// Compares the outcomes of the same events on two sides, the baseline and the candidate.
///
/// Its memory is bounded: some 40 bytes a subject, and tables of limited size for all else. It belongs to one thread; those of the lanes
/// of a replay are merged afterwards.
package final class Comparison {
  private var subjects = SubjectStates()
  /// The states of the subjects of merged comparisons.
  private var others: [SubjectStates] = []
  private var decisions = DecisionTally()
  private var effects = EffectTally()
  private var failures = FailureTally()
  private var rules = RuleTally()
  private var fidelity = Fidelity()
  private var messages = CountOfSides()
  private var timers = CountOfSides()
  private var counters = CounterTally()
  /// The changed events of each subject, with the id of the first of them.
  private var changed = CommonCounts<String, String>(capacity: 4096)
  private var stateDifferences = StateDifferences()
  /// The comparison of the boards, once all is played.
  var boards = BoardDifferences()
  private var outcomes = (equal: 0, changed: 0)
  private var events = 0
  private var range = ComparedRange()

  package init() {}

  /// Notes that part of the history is missing after the events so far.
  func noteGap() { fidelity.noteGap() }

  /// Adds an event as it came out on both sides, or on one if it did not happen on the other.
  ///
  /// `recorded` is its recorded outcome, if there is one.
  package func add(recorded: JournalEntry? = nil, baseline: Played?, candidate: Played?) {
    guard let entry = baseline?.entry ?? candidate?.entry else { return }
    let isEqual = addOutcome(baseline?.entry, candidate?.entry, at: entry.sequence)
    if baseline != nil {
      events += 1
      range.merge(ComparedRange(since: entry.at, until: entry.at, first: entry.sequence, last: entry.sequence))
    }
    if isEqual {
      outcomes.equal += 1
    } else {
      outcomes.changed += 1
      changed.add(entry.subject, at: entry.sequence, note: EventText.id(entry.event))
    }
    if let baseline, let candidate { stateDifferences.add(baseline.entry, candidate.entry) }
    if let recorded { fidelity.add(recorded, baseline?.entry) }
    if let baseline { count(baseline, \.before) }
    if let candidate { count(candidate, \.after) }
    subjects.note(
      entry.subject, baseline: baseline.map { SubjectStates.digest(of: $0.entry.digests) },
      candidate: candidate.map { SubjectStates.digest(of: $0.entry.digests) }, isChanged: !isEqual)
  }

  /// Notes a recorded event that the baseline does not have.
  func addMissing(_ recorded: JournalEntry) { fidelity.add(recorded, nil) }

  /// Notes that a subject was erased on both sides, and drops what only it had.
  func forget(_ subject: String) {
    decisions.forget(subject)
    subjects.note(subject, baseline: Self.none, candidate: Self.none, isChanged: false, addsSubject: false)
  }

  private static let none = SubjectStates.digest(of: [])

  /// Compares an event's outcome on both sides; whether it is the same.
  private func addOutcome(_ before: JournalEntry?, _ after: JournalEntry?, at position: UInt64) -> Bool {
    decisions.add(
      before: before?.decisions, after: after?.decisions, at: position,
      event: (before ?? after).map { (subject: $0.subject, id: EventText.id($0.event)) } ?? ("", ""))
    effects.add(before: before?.effects, after: after?.effects)
    let failsAlike = failures.add(before: before?.failures, after: after?.failures, at: position)
    guard let before, let after else { return false }
    return failsAlike && before.decisions == after.decisions && before.effects == after.effects
  }

  private func count(_ played: Played, _ side: WritableKeyPath<CountOfSides, Int>) {
    rules.add(played.rules, side)
    if !played.counts.isEmpty { counters.add(played.counts, isBaseline: side == \.before) }
    switch played.entry.origin {
    case .message: messages[keyPath: side] += 1
    case .timer: timers[keyPath: side] += 1
    default: break
    }
  }

  /// Adds another comparison of the same sides and other subjects.
  package func merge(_ other: Comparison) {
    others += [other.subjects] + other.others
    decisions.merge(other.decisions)
    effects.merge(other.effects)
    failures.merge(other.failures)
    rules.merge(other.rules)
    fidelity.merge(other.fidelity)
    messages = messages + other.messages
    timers = timers + other.timers
    counters.merge(other.counters)
    changed.merge(other.changed)
    stateDifferences.merge(other.stateDifferences)
    outcomes.equal += other.outcomes.equal
    outcomes.changed += other.outcomes.changed
    events += other.events
    range.merge(other.range)
  }

  package var result: ComparisonResult {
    let tables = [subjects] + others
    let states = tables.map(\.equalAndChanged).reduce((equal: 0, changed: 0)) {
      (equal: $0.equal + $1.equal, changed: $0.changed + $1.changed)
    }
    return ComparisonResult(
      range: range, events: events, subjects: states.equal + states.changed, fidelity: fidelity.json,
      outcomes: outcomes, decisions: decisions.json, effects: effects.json,
      effectTotals: effects.total, messages: messages, timers: timers, counters: counters.json, failures: failures.json,
      failureTotals: failures.total, states: states, rules: rules.json,
      instructions: rules.instructions,
      mostChanged: changed.top(10).map { (subject: $0.thing, events: $0.count, event: $0.note) },
      otherStates: stateDifferences.all, boards: boards.json,
      changedSubjects: tables.reduce(0) { $0 + $1.withChangedEvents }, details: decisions.details)
  }
}
