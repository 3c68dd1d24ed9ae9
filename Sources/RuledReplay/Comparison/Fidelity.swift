import RuledCore
import RuledJournal

/// How faithful a replay is: for how many events the baseline gives the recorded outcome again exactly, and why not for the others.
struct Fidelity: Sendable {
  /// Why an event did not come out as it was recorded.
  enum Reason: String, Sendable, CaseIterable {
    /// Other rules, or other settings of them, were live then.
    case otherRules = "other rules then"
    /// Values of the event were replaced before it was kept.
    case redacted
    /// Part of the history before it is missing.
    case gap = "a gap"
    /// The limits or the settings of the daemon differ.
    case settings
  }

  /// How many recorded events were compared.
  private(set) var replayed = 0
  /// How many of them came out as they were recorded.
  private(set) var equal = 0
  private var different: [Reason: Int] = [:]
  /// An earlier reason, for which later events may differ as well.
  private var earlier: Reason?

  /// Notes that part of the history is missing after the events so far.
  mutating func noteGap() { earlier = earlier ?? .gap }

  /// Adds a recorded event, and what the baseline made of it; nil where it did not happen there.
  ///
  /// A retry does not count where the baseline never parked its event: that event itself was compared.
  mutating func add(_ recorded: JournalEntry, _ baseline: JournalEntry?) {
    guard baseline != nil || recorded.origin != .retry else { return }
    replayed += 1
    if !recorded.redacted.isEmpty { earlier = earlier ?? .redacted }
    if recorded.revision != baseline?.revision, baseline != nil { earlier = .otherRules }
    if let baseline, Self.isEqual(recorded, baseline) {
      equal += 1
    } else {
      different[Self.reason(recorded, baseline, earlier), default: 0] += 1
    }
  }

  mutating func merge(_ other: Fidelity) {
    replayed += other.replayed
    equal += other.equal
    different.merge(other.different, uniquingKeysWith: +)
  }

  /// The figures as the report's `fidelity`.
  var json: JSONValue {
    let reasons = different.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
    return [
      "replayed": .integer(Int64(replayed)), "equal": .integer(Int64(equal)),
      "different": .array(reasons.map { ["reason": .string($0.key.rawValue), "count": .integer(Int64($0.value))] }),
    ]
  }

  private static func isEqual(_ left: JournalEntry, _ right: JournalEntry) -> Bool {
    left.decisions == right.decisions && left.effects == right.effects && left.digests == right.digests
      && FailureTally.isEqual(left.failures, right.failures)
  }

  private static func reason(_ recorded: JournalEntry, _ baseline: JournalEntry?, _ earlier: Reason?) -> Reason {
    if !recorded.redacted.isEmpty { return .redacted }
    if let baseline, baseline.revision != recorded.revision { return .otherRules }
    return earlier ?? .settings
  }
}
