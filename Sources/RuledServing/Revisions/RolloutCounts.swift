import RuledEngine
import RuledStore

/// The decisions of both sides of a rollout, over all workers.
struct RolloutCounts: Sendable, Equatable {
  /// The number of events that the live rules decided.
  var liveEvents = 0
  /// The number of them on which a plugin failed.
  var liveFailures = 0
  /// The number of events that the candidate decided.
  var events = 0
  /// The number of them on which a plugin failed.
  var failures = 0
  /// The number of subjects with events that the candidate decided.
  var subjects = 0

  mutating func add(_ other: RolloutCounts) {
    liveEvents += other.liveEvents
    liveFailures += other.liveFailures
    events += other.events
    failures += other.failures
    subjects += other.subjects
  }

  /// Adds the stored counts of an earlier process's workers; the result is the subjects among them.
  mutating func addStored(in store: any StateStore) throws(StoreError) -> Set<UInt64> {
    var found = RolloutCounts()
    try store.scan(prefix: RolloutKey.allCounts) { _, value in
      guard value.count == 32 else { return true }
      let counts = (0..<4).map { Int(UInt64(bigEndian: value.load(at: 8 * $0, as: UInt64.self))) }
      found.add(RolloutCounts(liveEvents: counts[0], liveFailures: counts[1], events: counts[2], failures: counts[3]))
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

  /// Adds to a commit the removal of an earlier process's counts; the subjects stay.
  static func deleteCounts(in store: any StateStore, from set: WriteSet) throws(StoreError) {
    try store.scan(prefix: RolloutKey.allCounts) { key, _ in
      set.delete(key)
      return true
    }
  }

  /// Removes all counts and counted subjects from the store, in commits of some thousands.
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

extension RolloutCounts {
  /// One worker's counts.
  init(_ live: RolloutTally, _ candidate: RolloutTally) {
    self.init(
      liveEvents: live.events, liveFailures: live.failures, events: candidate.events, failures: candidate.failures,
      subjects: candidate.subjects)
  }
}
