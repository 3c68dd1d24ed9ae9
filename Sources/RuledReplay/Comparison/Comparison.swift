package import RuledCore
package import RuledJournal
import RuledStore

/// Compares the outcomes of the same events on two sides, the baseline and the candidate.
///
/// Its memory is bounded: some 40 bytes a subject, and tables of limited size for all else. It belongs to one thread; those of the lanes
/// of a replay are merged afterwards.
package final class Comparison {
  private var subjects = SubjectStates()
  /// The states of the subjects of merged comparisons.
  private var others: [SubjectStates] = []
  private(set) var decisions = DecisionTally()
  private(set) var effects = EffectTally()
  private(set) var failures = FailureTally()
  private(set) var rules = RuleTally()
  private var fidelity = Fidelity()
  private var messages = CountOfSides()
  private var timers = CountOfSides()
  private var counters = CounterTally()
  /// The changed events of each subject.
  private var changed = CommonCounts<String, ChangedEvent>(capacity: 4096, join: ChangedEvent.preferred)
  private var stateDifferences = StateDifferences()
  /// The comparison of the boards, once all is played.
  private var boards = BoardDifferences()
  private var topics = TopicDifferences()
  /// How many events came out equal, and how many did not.
  package private(set) var outcomes = (equal: 0, changed: 0)
  /// How many events the baseline played that rules could see.
  package private(set) var events = 0
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
      let only = candidate == nil ? "baseline" : baseline == nil ? "candidate" : nil
      changed.add(
        entry.subject, at: entry.sequence,
        note: ChangedEvent(id: entry.eventID, position: entry.sequence, only: only))
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
      event: (before ?? after).map { (subject: $0.subject, id: $0.eventID) } ?? ("", ""))
    effects.add(before: before?.effects, after: after?.effects)
    let failsAlike = failures.add(before: before?.failures, after: after?.failures, at: position)
    guard let before, let after else { return false }
    return failsAlike && before.decisions == after.decisions && before.effects == after.effects
  }

  private func count(_ played: Played, _ side: WritableKeyPath<CountOfSides, Int>) {
    rules.add(played.rules, side)
    if !played.counts.isEmpty { counters.add(played.counts, isBaseline: side == \.before) }
    topics.add(played.publications, side)
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
    topics.merge(other.topics)
    changed.merge(other.changed)
    stateDifferences.merge(other.stateDifferences)
    outcomes.equal += other.outcomes.equal
    outcomes.changed += other.outcomes.changed
    events += other.events
    range.merge(other.range)
  }

  /// Compares the boards and the members of topics in the stores of the two sides, once all is played.
  func compare(_ stores: (baseline: any StateStore, candidate: any StateStore)) throws(StoreError) {
    boards = try BoardDifferences(stores.baseline, stores.candidate)
    try topics.addMembers(stores.baseline, stores.candidate)
  }

  /// How many subjects ended with the same state, and how many did not.
  var states: (equal: Int, changed: Int) {
    tables.map(\.equalAndChanged).reduce((0, 0)) { ($0.equal + $1.equal, $0.changed + $1.changed) }
  }

  /// How many subjects the events belong to.
  package var subjectCount: Int { tables.reduce(0) { $0 + $1.count } }

  /// How many subjects had an event that came out differently.
  package var changedSubjects: Int { tables.reduce(0) { $0 + $1.withChangedEvents } }

  private var tables: [SubjectStates] { [subjects] + others }

  /// The subjects with most changed events, each with the id of its first one on both sides, or of its first on the side `only`.
  package var mostChanged: [(subject: String, events: Int, event: String, only: String?)] {
    changed.top(10).map { ($0.thing, $0.count, $0.note.id, $0.note.only) }
  }

  /// The report's `decisions` for people: each also with `members`, its changes within values, and `examples`, some of the events that it changed for.
  package var details: [JSONValue] { decisions.details }

  /// The report as `backtest --json` prints it, of two revisions; `folder` is that of the candidate's rules, as it was named.
  package func json(
    baseline: String, candidate: String, gaps: [JournalGap] = [], folder: String, conditions: [FailCondition] = []
  ) -> JSONValue {
    func explain(_ subject: String, _ event: String) -> JSONValue {
      .string(Self.explainCommand(subject, event, folder))
    }
    func time(_ time: Timestamp?) -> JSONValue { time.map { .string($0.rfc3339) } ?? .null }
    let most = mostChanged.map { subject, events, event, only -> JSONValue in
      .members([
        "subject": .string(subject), "events": .integer(Int64(events)), "explain": explain(subject, event),
        "only": only.map(JSONValue.string),
      ])
    }
    let others = stateDifferences.all.map { plugin, subject, event -> JSONValue in
      ["plugin": .string(plugin), "subject": .string(subject), "explain": explain(subject, event)]
    }
    let exceeded = conditions.filter { $0.isExceeded(by: self) }.map { JSONValue.string($0.text) }
    return [
      "range": [
        "since": time(range.since), "until": time(range.until),
        "first": .integer(Int64(clamping: range.first)), "last": .integer(Int64(clamping: range.last)),
      ],
      "events": .integer(Int64(events)), "subjects": .integer(Int64(subjectCount)), "gaps": .array(gaps.map(\.json)),
      "baseline": .string(baseline), "candidate": .string(candidate), "fidelity": fidelity.json,
      "outcomes": Self.equalAndChanged(outcomes), "decisions": decisions.json, "effects": effects.json,
      "messages": messages.json, "timers": timers.json, "counters": counters.json, "failures": failures.json,
      "states": Self.equalAndChanged(states), "rules": rules.json, "most_changed": .array(most),
      "other_states": .array(others), "boards": boards.json, "topics": topics.json,
      "exceeded": .array(exceeded),
    ]
  }

  /// The command that explains an event under the rules in a folder, for a shell.
  package static func explainCommand(_ subject: String, _ event: String, _ folder: String) -> String {
    let (words, rules) = ("\(subject.quotedForShell) \(event.quotedForShell)", "--rules \(folder.quotedForShell)")
    let needsEnd = [subject, event].contains { $0.utf8.first == UInt8(ascii: "-") }
    return "rulectl explain " + (needsEnd ? "\(rules) -- \(words)" : "\(words) \(rules)")
  }

  static func equalAndChanged(_ counts: (equal: Int, changed: Int)) -> JSONValue {
    ["equal": .integer(Int64(counts.equal)), "changed": .integer(Int64(counts.changed))]
  }
}

/// The entries that were compared, by their times and their sequences.
struct ComparedRange: Sendable {
  var since: Timestamp?
  var until: Timestamp?
  var first: UInt64 = 0
  var last: UInt64 = 0

  mutating func merge(_ other: ComparedRange) {
    if let theirs = other.since, since.map({ theirs < $0 }) ?? true { since = theirs }
    if let theirs = other.until, until.map({ theirs > $0 }) ?? true { until = theirs }
    if other.first > 0, first == 0 || other.first < first { first = other.first }
    last = max(last, other.last)
  }
}

/// The changed event that is shown for a subject: the first one that happened on both sides, or else the first one.
struct ChangedEvent: Sendable {
  let id: String
  let position: UInt64
  /// The side on which alone it happened, if it did not happen on both.
  let only: String?

  /// The one of two that is shown.
  static func preferred(_ first: ChangedEvent, _ second: ChangedEvent) -> ChangedEvent {
    if (first.only == nil) != (second.only == nil) { return first.only == nil ? first : second }
    return second.position < first.position ? second : first
  }
}

/// For each plugin the first event after which the two sides have another state of its subject.
struct StateDifferences: Sendable {
  /// The event by plugin, with its place in the order of all events; messages have that of the event before them.
  private var first: [String: (sequence: UInt64, subject: String, event: String)] = [:]

  mutating func add(_ before: JournalEntry, _ after: JournalEntry) {
    guard before.digests != after.digests else { return }
    for digest in before.digests where !after.digests.contains(digest) { note(digest.plugin, before) }
    for digest in after.digests where !before.digests.contains(digest) { note(digest.plugin, before) }
  }

  private mutating func note(_ plugin: String, _ entry: JournalEntry) {
    if let known = first[plugin], known.sequence < entry.sequence { return }
    let event = (sequence: entry.sequence, subject: entry.subject, event: entry.eventID)
    first[plugin] = first[plugin].map { $0 < event ? $0 : event } ?? event
  }

  mutating func merge(_ other: StateDifferences) { first.merge(other.first) { $0 < $1 ? $0 : $1 } }

  /// The events found, by plugin, in the order of the plugins' names.
  var all: [(plugin: String, subject: String, event: String)] {
    first.sorted { $0.key < $1.key }.map { (plugin: $0.key, subject: $0.value.subject, event: $0.value.event) }
  }
}
