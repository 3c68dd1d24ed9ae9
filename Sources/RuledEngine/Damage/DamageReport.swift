package import RuledCore
package import RuledStore
import Synchronization

/// The keys of the store that can't be read.
///
/// A key is removed once a read of it succeeds.
///
/// All threads note damage here. At most 100 entries are held; of further damage only the number is known.
package final class DamageReport: Sendable {
  /// A key, or a range of keys, that can't be read.
  struct Thing: Hashable, Sendable {
    /// The key, or the prefix of the keys that were to be read; of a range the key before it.
    let key: [UInt8]
    /// The hash of its subject, as logs show it; nil when it has none.
    let subjectHash: String?
    /// Whether it is a range of an unknown number of keys.
    let isRange: Bool
    /// Whether the value can be read, but not understood.
    let isMalformed: Bool

    var kind: StoreKey.Kind { key.first.flatMap { StoreKey.Kind(rawValue: $0) } ?? .daemon }

    init(_ key: some KeyPart, subject: [UInt8]?, isRange: Bool = false, isMalformed: Bool = false) {
      self.key = StoreKey.bytes { key.appendPart(to: $0) }
      subjectHash = subject.map { name in name.withView { LogLine.hash(of: $0) } }
      self.isRange = isRange
      self.isMalformed = isMalformed
    }
  }

  package struct Entry: Sendable {
    let thing: Thing
    /// The error of the last read.
    package fileprivate(set) var error: StoreError
    /// When a read failed first.
    let first: Timestamp
    fileprivate(set) var last: Timestamp
    fileprivate(set) var count = 1
    /// Until when it is not logged again, in nanoseconds of the monotonic clock.
    fileprivate var quietUntil: UInt64
    fileprivate var logged = 1
  }

  /// How many entries are held.
  static let most = 100
  /// How long an entry is not logged again.
  private static let silence = Backoff(first: 60_000, longest: 3_600_000)

  private struct State {
    var entries: [Thing: Entry] = [:]
    /// The number of failed reads without an entry.
    var beyond = 0
  }

  private let state = Mutex(State())
  /// The number of entries.
  ///
  /// Reads that succeed check only this while it is 0.
  private let known = Atomic<Int>(0)

  package var isEmpty: Bool { known.load(ordering: .relaxed) == 0 }

  /// The entries in order of their first failure, and the number of failed reads that are not listed.
  package var entries: (listed: [Entry], beyond: Int) {
    state.withLock { state in
      (state.entries.values.sorted { ($0.first, $0.thing.key.count) < ($1.first, $1.thing.key.count) }, state.beyond)
    }
  }

  /// Notes that something can't be read.
  ///
  /// - Returns: whether it must be logged: the first time, and then less and less often.
  func note(_ thing: Thing, _ error: StoreError, at time: Timestamp) -> Bool {
    let now = EngineClock.monotonic
    return state.withLock { state in
      if var entry = state.entries[thing] {
        entry.error = error
        entry.last = time
        entry.count += 1
        let isDue = now >= entry.quietUntil
        if isDue {
          entry.logged += 1
          entry.quietUntil = now + Self.silence.delay(after: entry.logged) * 1_000_000
        }
        state.entries[thing] = entry
        return isDue
      }
      guard state.entries.count < Self.most else {
        state.beyond += 1
        return state.beyond == 1
      }
      state.entries[thing] = Entry(
        thing: thing, error: error, first: time, last: time, quietUntil: now + Self.silence.delay(after: 1) * 1_000_000)
      known.store(state.entries.count, ordering: .relaxed)
      return true
    }
  }

  /// Removes the entry of a key that could be read.
  ///
  /// - Returns: the earlier entry; nil when there was none.
  func clear(key: [UInt8], isMalformed: Bool) -> Thing? {
    state.withLock { state in
      let thing = state.entries.keys.first { $0.key == key && !$0.isRange && $0.isMalformed == isMalformed }
      return thing.flatMap { clear($0, in: &state) }
    }
  }

  private func clear(_ thing: Thing, in state: inout State) -> Thing? {
    guard let entry = state.entries.removeValue(forKey: thing) else { return nil }
    known.store(state.entries.count, ordering: .relaxed)
    if state.entries.isEmpty { state.beyond = 0 }
    return entry.thing
  }

  /// Removes the ranges of a kind that begin from `lower` on and below `upper`, except the ones that a scan has just met.
  ///
  /// - Returns: how many were removed.
  func clear(rangesOf kind: StoreKey.Kind, from lower: [UInt8], to upper: [UInt8]?, except met: Set<Thing>) -> Int {
    state.withLock { state in
      let gone = state.entries.keys.filter { thing in
        thing.kind == kind && thing.isRange && !met.contains(thing) && !thing.key.lexicographicallyPrecedes(lower)
          && (upper.map { thing.key.lexicographicallyPrecedes($0) } ?? true)
      }
      return gone.count { clear($0, in: &state) != nil }
    }
  }
}

extension DamageReport.Entry {
  /// The entry as `health` lists it; of subjects only hashes are shown.
  package var json: JSONValue {
    .members([
      "what": .string(thing.what), "file": error.file.map { .string($0) } ?? .null,
      "error": .string(error.description), "first": .string(first.rfc3339), "last": .string(last.rfc3339),
      "count": .integer(Int64(count)), "subject_hash": thing.subjectHash.map { .string($0) },
    ])
  }
}

extension DamageReport.Thing {
  var what: String {
    if isRange { return "some \(kind.nouns)" }
    if kind == .daemon { return "the daemon's own '\(key.dropFirst().text)'" }
    return kind == .effect || kind == .once ? "an \(kind.noun)" : "a \(kind.noun)"
  }
}

extension StoreKey.Kind {
  /// A noun for one of them, for messages.
  var noun: String {
    switch self {
    case .record: "subject's record"
    case .outcome, .earlierEvents, .outcomeIndex: "remembered outcome"
    case .once: "once key"
    case .timer: "timer"
    case .timerIndex: "timer's due time"
    case .message: "message"
    case .effect: "effect"
    case .parked: "parked event"
    case .counter: "counter"
    case .place: "place on a board"
    case .board: "board"
    case .membership, .member: "membership in a topic"
    case .memberCount: "count of a topic's members"
    case .publication, .publicationCursor: "publication"
    case .daemon: "value of the daemon's own"
    }
  }

  /// A noun for several of them.
  var nouns: String {
    switch self {
    case .record: "subjects' records"
    case .timerIndex: "timers' due times"
    case .place: "places on boards"
    case .membership, .member: "memberships in topics"
    case .memberCount: "counts of topics' members"
    case .daemon: "values of the daemon's own"
    default: "\(noun)s"
    }
  }
}
