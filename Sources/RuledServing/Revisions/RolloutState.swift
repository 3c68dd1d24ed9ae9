import RuledCore
import RuledEngine
import RuledJSON
import RuledReplay
import RuledStore

/// A rollout: the rules on trial, their share of the subjects, and the results; the store keeps it.
struct RolloutState: Sendable {
  /// Whether it runs, and how it ended otherwise.
  enum Stage: String, Sendable {
    case running, aborted, promoted
  }

  let candidate: String
  /// When it was started, by the daemon's clock.
  let since: Timestamp
  /// The share of the subjects, 0 to 100.
  var percent: Double
  /// When it is aborted by itself; nil for never.
  let abortOn: FailCondition?
  var stage = Stage.running
  /// Why it was aborted; nil while it runs and when it was promoted.
  var reason: String?
  /// The counts until it ended; while it runs, until this process began.
  var counts = RolloutCounts()
  /// Both sides' rules, while it runs: the folder may change meanwhile.
  var sides: (live: RevisionArchive.Revision, candidate: RevisionArchive.Revision)?
  /// How long the plugins of both sides take, since the rollout or the daemon began; nil for a rollout that an earlier process ended.
  var times: RunTimes?

  var share: SubjectShare { SubjectShare(percent: percent, revision: candidate) }

  /// The sentence of `health` while it runs.
  var notice: String {
    "a rollout of revision \(candidate) to \(JSONValue.shortest(percent).text) % of the subjects runs: changes of the rules folder wait"
  }

  /// The counts; `new` are this process's.
  func total(_ new: RolloutCounts) -> RolloutCounts {
    guard stage == .running else { return counts }
    var total = counts
    total.add(new)
    return total
  }

  /// The result of `rollout_status`; `new` are this process's counts.
  ///
  /// The run times are compared with those of the rules `live`, and left out without them.
  func json(_ new: RolloutCounts, besides live: Catalog? = nil) -> JSONValue {
    let counts = total(new)
    var members: JSONObject = [
      "candidate": .string(candidate), "percent": .shortest(percent), "since": .string(since.rfc3339),
      "subjects": .integer(Int64(counts.subjects)), "events": .integer(Int64(counts.events)),
      "live_events": .integer(Int64(counts.liveEvents)),
      "failures": .object([
        "live": .integer(Int64(counts.liveFailures)), "candidate": .integer(Int64(counts.failures)),
      ]),
      "abort_on": abortOn.map { .string($0.text) } ?? .null, "state": .string(stage.rawValue),
      "reason": reason.map { .string($0) } ?? .null,
    ]
    if stage == .running, let live, let times { members["run_times"] = times.json(besides: live) }
    return .object(members)
  }

  /// Its part of the journal's event, beside the rules.
  var journalEvent: JSONValue {
    ["candidate": .string(candidate), "percent": .shortest(percent), "state": .string(stage.rawValue)]
  }

  /// Notes how it ended; `new` are this process's counts.
  mutating func end(_ stage: Stage, _ new: RolloutCounts) {
    counts = total(new)
    self.stage = stage
    sides = nil
  }

  /// Why it must be aborted; nil if it need not be; `new` are this process's counts.
  func excess(_ new: RolloutCounts) -> String? {
    let counts = total(new)
    guard let abortOn, counts.failures > 0 else { return nil }
    let share = Double(counts.failures) / Double(max(counts.events, 1))
    if abortOn.isFraction {
      guard counts.events >= Limits.rolloutEvents, share > abortOn.limit else { return nil }
    } else if Double(counts.failures) <= abortOn.limit {
      return nil
    }
    return "\(abortOn.text): \(counts.failures) of the candidate's \(counts.events) events failed"
  }

  // MARK: The stored rollout

  private static let value = StoredValue(name: "rollout")

  func put(into set: WriteSet) {
    var object = json(RolloutCounts()).objectValue ?? JSONObject()
    if let sides {
      object["live"] = RevisionDocument.json(sides.live)
      object["sources"] = RevisionDocument.json(sides.candidate)
    }
    Self.value.put(into: set, JSONValue.object(object).write(to:))
  }

  /// The rollout that the store keeps, the last one; nil when there was none.
  static func read(from store: any StateStore) throws(StoreError) -> RolloutState? {
    guard let stored = try value.read(from: store) else { return nil }
    guard let json = try? JSONValue(parsing: stored.bytes, maximumDepth: RevisionDocument.depth + 2),
      let candidate = json["candidate"]?.stringValue, let percent = json["percent"]?.doubleValue,
      let since = json["since"]?.stringValue.flatMap({ Timestamp(rfc3339: $0) }),
      let stage = json["state"]?.stringValue.flatMap(Stage.init)
    else { throw StoreError(.corrupt, "the rollout that the store keeps has another form") }
    var state = RolloutState(
      candidate: candidate, since: since, percent: percent,
      abortOn: json["abort_on"]?.stringValue.flatMap { try? FailCondition($0) }, stage: stage,
      reason: json["reason"]?.stringValue)
    if stage == .running {
      guard let live = json["live"].flatMap(RevisionDocument.revision),
        let tried = json["sources"].flatMap(RevisionDocument.revision)
      else { throw StoreError(.corrupt, "the rollout that the store keeps has no rules") }
      state.sides = (live, tried)
    }
    func count(_ path: String...) -> Int { Int(path.reduce(Optional(json)) { $0?[$1] }?.intValue ?? 0) }
    state.counts = RolloutCounts(
      liveEvents: count("live_events"), liveFailures: count("failures", "live"), events: count("events"),
      failures: count("failures", "candidate"), subjects: count("subjects"))
    return state
  }
}
