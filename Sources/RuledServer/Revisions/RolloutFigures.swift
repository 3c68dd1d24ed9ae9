import RuledCore
import RuledEngine
import RuledStore
import Synchronization

/// What one worker has counted of a rollout, for other threads to read.
final class RolloutFigures: Sendable {
  private let liveEvents = Atomic<Int>(0)
  private let liveFailures = Atomic<Int>(0)
  private let candidateEvents = Atomic<Int>(0)
  private let candidateFailures = Atomic<Int>(0)
  private let candidateSubjects = Atomic<Int>(0)

  /// Shows what was counted so far.
  func publish(_ live: RolloutTally, _ candidate: RolloutTally) {
    liveEvents.store(live.events, ordering: .relaxed)
    liveFailures.store(live.failures, ordering: .relaxed)
    candidateEvents.store(candidate.events, ordering: .relaxed)
    candidateFailures.store(candidate.failures, ordering: .relaxed)
    candidateSubjects.store(candidate.subjects, ordering: .relaxed)
  }

  func reset() {
    liveEvents.store(0, ordering: .relaxed)
    liveFailures.store(0, ordering: .relaxed)
    candidateEvents.store(0, ordering: .relaxed)
    candidateFailures.store(0, ordering: .relaxed)
    candidateSubjects.store(0, ordering: .relaxed)
  }

  var counts: RolloutCounts {
    RolloutCounts(
      liveEvents: liveEvents.load(ordering: .relaxed), liveFailures: liveFailures.load(ordering: .relaxed),
      events: candidateEvents.load(ordering: .relaxed), failures: candidateFailures.load(ordering: .relaxed),
      subjects: candidateSubjects.load(ordering: .relaxed))
  }
}

/// What both sides of a rollout decided, over all workers.
struct RolloutCounts: Sendable, Equatable {
  /// How many events the live rules decided.
  var liveEvents = 0
  /// How many of them a plugin failed on.
  var liveFailures = 0
  /// How many events the candidate decided.
  var events = 0
  /// How many of them a plugin failed on.
  var failures = 0
  /// How many subjects had events that the candidate decided.
  var subjects = 0

  /// Adds those of another worker.
  mutating func add(_ other: RolloutCounts) {
    liveEvents += other.liveEvents
    liveFailures += other.liveFailures
    events += other.events
    failures += other.failures
    subjects += other.subjects
  }

  /// Adds what workers of an earlier process counted, which the store has; the result is the subjects that were counted.
  mutating func addStored(in store: any StateStore) throws(StoreError) -> Set<UInt64> {
    var found = RolloutCounts()
    try store.scan(prefix: RolloutKey.allCounts) { _, value in
      guard value.count == 32 else { return true }
      let counts = (0..<4).map { Int(UInt64(bigEndian: value.load(at: 8 * $0, as: UInt64.self))) }
      found.add(
        RolloutCounts(liveEvents: counts[0], liveFailures: counts[1], events: counts[2], failures: counts[3]))
      return true
    }
    add(found)
    let start = RolloutKey.allSubjects.count
    var known: Set<UInt64> = []
    try store.scan(prefix: RolloutKey.allSubjects) { key, _ in
      if key.count == start + 8 { known.insert(UInt64(bigEndian: key.load(at: start, as: UInt64.self))) }
      return true
    }
    subjects = known.count
    return known
  }

  /// Adds the removal of what workers of an earlier process counted to what is committed; the subjects stay.
  static func deleteCounts(in store: any StateStore, from set: WriteSet) throws(StoreError) {
    try store.scan(prefix: RolloutKey.allCounts) { key, _ in
      set.delete(key)
      return true
    }
  }

  /// Removes all that the store has counted, in commits of some thousands.
  static func deleteAll(in store: any StateStore) throws(StoreError) {
    while true {
      let set = WriteSet(capacity: 4096)
      var count = 0
      try store.scan(prefix: RolloutKey.all) { key, _ in
        set.delete(key)
        count += 1
        return count < 10_000
      }
      guard count > 0 else { return }
      try store.commit(set, durable: false)
    }
  }
}

extension Services {
  /// What all workers have counted of the last rollout since it or the process began.
  var rolloutCounts: RolloutCounts {
    figures.reduce(into: RolloutCounts()) { $0.add($1.rollout.counts) }
  }
}

/// How long the plugins of live rules take for an event since a candidate runs beside them, and how long the candidate's take.
///
/// Both sides are measured alike: one run in 16, by the wall clock.
struct RunTimes: Sendable {
  /// What a plugin had measured at some time.
  private struct Earlier: Sendable {
    var runtime: PluginRuntime
    var durations: LatencyHistogram
  }

  private var candidate: [Catalog.Plugin] = []
  private let earlier: [String: Earlier]

  /// Begins to look at the live rules.
  init(besides live: Catalog?) {
    let plugins = (live?.plugins ?? []).map { plugin in
      (plugin.name, Earlier(runtime: plugin.runtime, durations: plugin.runtime.durations))
    }
    earlier = Dictionary(uniqueKeysWithValues: plugins)
  }

  /// The same with the candidate's plugins beside them.
  func of(_ candidate: Catalog) -> RunTimes {
    var times = self
    times.candidate = candidate.plugins
    return times
  }

  /// The times as `[{plugin, live, candidate}]`, each side `{measured, p50_us, p99_us}` or null.
  ///
  /// Plugins that both sides share are left out: their runs are measured together. So are those that were not measured.
  func json(besides live: Catalog?) -> JSONValue {
    let live = live?.plugins ?? []
    let names = Set(live.map(\.name)).union(candidate.map(\.name)).sorted()
    return .array(
      names.compactMap { name in
        let (left, right) = (live.first { $0.name == name }, candidate.first { $0.name == name })
        if let left, let right, left.runtime === right.runtime { return nil }
        let sides = (live: left.flatMap(durations), candidate: right.map(\.runtime.durations))
        guard (sides.live?.total ?? 0) + (sides.candidate?.total ?? 0) > 0 else { return nil }
        return [
          "plugin": .string(name), "live": Self.json(sides.live), "candidate": Self.json(sides.candidate),
        ]
      })
  }

  /// The candidate's plugins that the live rules do not have like that.
  func changed(from live: Catalog?) -> [Catalog.Plugin] {
    candidate.filter { plugin in live?.plugins.contains { $0.runtime === plugin.runtime } != true }
  }

  /// What a plugin of the live rules has measured since the comparison began, or since it was loaded.
  private func durations(of plugin: Catalog.Plugin) -> LatencyHistogram {
    var new = LatencyHistogram(precision: PluginRuntime.precision)
    let before = earlier[plugin.name].flatMap { $0.runtime === plugin.runtime ? $0.durations : nil }
    new.add(plugin.runtime.durations, since: before)
    return new
  }

  private static func json(_ durations: LatencyHistogram?) -> JSONValue {
    guard let durations, durations.total > 0 else { return .null }
    func micros(_ share: Double) -> JSONValue { .number(Double(durations.quantile(share) / 100) / 10) }
    return [
      "measured": .integer(Int64(clamping: durations.total)), "p50_us": micros(0.5), "p99_us": micros(0.99),
    ]
  }
}
