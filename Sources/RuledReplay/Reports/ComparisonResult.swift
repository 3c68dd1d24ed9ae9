package import RuledCore
package import RuledJournal

package struct ComparisonResult {
  var range: ComparedRange
  /// How many events the baseline played that rules could see.
  package var events: Int
  /// How many subjects they belong to.
  package var subjects: Int
  var fidelity: JSONValue
  /// How many events came out equal, and how many did not.
  package var outcomes: (equal: Int, changed: Int)
  var decisions: JSONValue
  var effects: JSONValue
  var effectTotals: CountOfSides
  var messages: CountOfSides
  var timers: CountOfSides
  var counters: JSONValue
  var failures: JSONValue
  var failureTotals: CountOfSides
  var states: (equal: Int, changed: Int)
  var rules: JSONValue
  var instructions: CountOfSides
  /// The subjects with most changed events, each with the id of its first one.
  package var mostChanged: [(subject: String, events: Int, event: String)]
  /// For each plugin the first event after which its state of a subject differs.
  var otherStates: [(plugin: String, subject: String, event: String)]
  /// For each board how many subjects have the same score on both sides, and how many have not.
  var boards: JSONValue
  /// How many subjects had an event that came out differently.
  package var changedSubjects: Int
  /// The report's `decisions` for people: each also with `members`, its changes within values, and `examples`, some of the events that it changed for.
  package var details: [JSONValue]

  /// The report as `backtest --json` prints it.
  ///
  /// - Parameters:
  ///   - baseline: the revision of the one side.
  ///   - candidate: the revision of the other.
  ///   - gaps: the parts of the history that are missing.
  ///   - folder: the folder of the candidate's rules, as it was named.
  ///   - conditions: those of `--fail-on`.
  /// - Returns: the report.
  package func json(
    baseline: String, candidate: String, gaps: [JournalGap] = [], folder: String, conditions: [FailCondition] = []
  ) -> JSONValue {
    func explain(_ subject: String, _ event: String) -> JSONValue {
      .string(
        "rulectl explain \(subject.quotedForShell) \(event.quotedForShell) --rules \(folder.quotedForShell)")
    }
    let most = mostChanged.map { entry -> JSONValue in
      [
        "subject": .string(entry.subject), "events": .integer(Int64(entry.events)),
        "explain": explain(entry.subject, entry.event),
      ]
    }
    let others = otherStates.map { entry -> JSONValue in
      [
        "plugin": .string(entry.plugin), "subject": .string(entry.subject),
        "explain": explain(entry.subject, entry.event),
      ]
    }
    let exceeded = conditions.filter { $0.isExceeded(by: self) }.map { JSONValue.string($0.text) }
    return [
      "range": [
        "since": Self.time(range.since), "until": Self.time(range.until),
        "first": .integer(Int64(clamping: range.first)), "last": .integer(Int64(clamping: range.last)),
      ],
      "events": .integer(Int64(events)), "subjects": .integer(Int64(subjects)), "gaps": .array(gaps.map(\.json)),
      "baseline": .string(baseline), "candidate": .string(candidate), "fidelity": fidelity,
      "outcomes": Self.equalAndChanged(outcomes), "decisions": decisions, "effects": effects,
      "messages": messages.json, "timers": timers.json, "counters": counters, "failures": failures,
      "states": Self.equalAndChanged(states), "rules": rules, "most_changed": .array(most),
      "other_states": .array(others), "boards": boards, "exceeded": .array(exceeded),
    ]
  }

  private static func time(_ time: Timestamp?) -> JSONValue { time.map { .string($0.rfc3339) } ?? .null }

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

extension String {
  /// The text as one word of a shell's command line.
  var quotedForShell: String {
    let isPlain = utf8.allSatisfy { $0.isLetter || $0.isDigit || "-_./:@%+=,".utf8.contains($0) }
    if isPlain, !isEmpty { return self }
    return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
