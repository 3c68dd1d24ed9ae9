package import RuledCore
package import RuledStore
import Synchronization

/// What of the store can't be read at present: kept while reads of it fail, let go once one succeeds.
///
/// All threads note here what they meet. It is bounded: of damage beyond that only the number is known.
package final class DamageReport: Sendable {
  /// What can't be read.
  package struct Thing: Hashable, Sendable {
    /// Its key, or what the keys begin with that were to be read; of a stretch of keys the one before it.
    let key: [UInt8]
    /// What a log shows of its subject; nil when it has none.
    let subjectHash: String?
    /// Whether it is a stretch of keys, of which nobody knows how many they are.
    let isStretch: Bool
    /// Whether it can be read, but has a form that nobody writes.
    let isMalformed: Bool

    /// Of which kind it is.
    var kind: StoreKey.Kind { key.first.flatMap { StoreKey.Kind(rawValue: $0) } ?? .daemon }

    init(_ key: some KeyPart, subject: [UInt8]?, isStretch: Bool = false, isMalformed: Bool = false) {
      self.key = StoreKey.bytes { key.appendPart(to: $0) }
      subjectHash = subject.map { name in name.withUnsafeBytes { String(SHA256.hash($0).hex.prefix(12)) } }
      self.isStretch = isStretch
      self.isMalformed = isMalformed
    }
  }

  /// How it fares.
  package struct Entry: Sendable {
    /// What can't be read.
    package let thing: Thing
    /// What the database says.
    package fileprivate(set) var error: StoreError
    /// When that was noticed first.
    package let first: Timestamp
    /// When it was tried last.
    package fileprivate(set) var last: Timestamp
    /// How often it was tried.
    package fileprivate(set) var count = 1
    /// When the log may hear of it again, in nanoseconds of the clock that measures, and how long it then has to wait.
    fileprivate var quietUntil: UInt64
    fileprivate var pause: UInt64
  }

  /// How many are kept.
  package static let most = 100
  /// How long the log hears nothing of one again, in nanoseconds: doubled each time.
  private static let (firstPause, longestPause): (UInt64, UInt64) = (60_000_000_000, 3_600_000_000_000)

  private struct State {
    var entries: [Thing: Entry] = [:]
    /// How often something failed that found no room.
    var beyond = 0
  }

  private let state = Mutex(State())
  /// How many entries there are, for reads that succeed: they look no further while there are none.
  private let known = Atomic<Int>(0)

  /// A report of nothing.
  package init() {}

  /// Whether all that was read could be.
  package var isEmpty: Bool { known.load(ordering: .relaxed) == 0 }

  /// What can't be read, what was noticed first before the rest, and how often something failed that is not listed.
  package var entries: (listed: [Entry], beyond: Int) {
    state.withLock { state in
      (state.entries.values.sorted { ($0.first, $0.thing.key.count) < ($1.first, $1.thing.key.count) }, state.beyond)
    }
  }

  /// Notes that something can't be read; says whether the log should hear of it, which is at first and then ever more seldom.
  func note(_ thing: Thing, _ error: StoreError, at time: Timestamp) -> Bool {
    let now = EngineClock.monotonic
    return state.withLock { state in
      if var entry = state.entries[thing] {
        entry.error = error
        entry.last = time
        entry.count += 1
        let isDue = now >= entry.quietUntil
        if isDue {
          entry.pause = min(entry.pause * 2, Self.longestPause)
          entry.quietUntil = now + entry.pause
        }
        state.entries[thing] = entry
        return isDue
      }
      guard state.entries.count < Self.most else {
        state.beyond += 1
        return state.beyond == 1
      }
      state.entries[thing] = Entry(
        thing: thing, error: error, first: time, last: time, quietUntil: now + Self.firstPause, pause: Self.firstPause)
      known.store(state.entries.count, ordering: .relaxed)
      return true
    }
  }

  /// Notes that a key could be read, or that it has a known form; gives what it was if it was damaged so before.
  func clear(key: [UInt8], isMalformed: Bool) -> Thing? {
    state.withLock { state in
      let thing = state.entries.keys.first { $0.key == key && !$0.isStretch && $0.isMalformed == isMalformed }
      return thing.flatMap { clear($0, in: &state) }
    }
  }

  private func clear(_ thing: Thing, in state: inout State) -> Thing? {
    guard let entry = state.entries.removeValue(forKey: thing) else { return nil }
    known.store(state.entries.count, ordering: .relaxed)
    if state.entries.isEmpty { state.beyond = 0 }
    return entry.thing
  }

  /// Notes that keys of a kind could be gone through but for the stretches `met`, from `lower` on and below `upper`; gives how many others there were.
  func clear(stretchesOf kind: StoreKey.Kind, from lower: [UInt8], to upper: [UInt8]?, but met: Set<Thing>) -> Int {
    state.withLock { state in
      let gone = state.entries.keys.filter { thing in
        thing.kind == kind && thing.isStretch && !met.contains(thing) && !thing.key.lexicographicallyPrecedes(lower)
          && (upper.map { thing.key.lexicographicallyPrecedes($0) } ?? true)
      }
      return gone.count { clear($0, in: &state) != nil }
    }
  }
}

extension DamageReport.Entry {
  /// What it is, as health and the log call it.
  package var what: String { thing.what }

  /// The entry as `health` lists it; subjects show as hashes alone.
  package var json: JSONValue {
    var object: JSONObject = [
      "what": .string(what), "file": error.file.map { .string($0) } ?? .null, "error": .string(error.description),
      "first": .string(first.rfc3339), "last": .string(last.rfc3339), "count": .integer(Int64(count)),
    ]
    if let hash = thing.subjectHash { object["subject_hash"] = .string(hash) }
    return .object(object)
  }
}

extension DamageReport.Thing {
  /// What it is, as health and the log call it.
  var what: String {
    if isStretch { return "some \(kind.nouns)" }
    if kind == .daemon { return "the daemon's own '\(String(decoding: key.dropFirst(), as: UTF8.self))'" }
    return kind == .effect || kind == .once ? "an \(kind.noun)" : "a \(kind.noun)"
  }
}

extension StoreKey.Kind {
  /// What one of them is called in messages.
  package var noun: String {
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
    case .daemon: "value of the daemon's own"
    }
  }

  /// What several are called.
  var nouns: String {
    switch self {
    case .record: "subjects' records"
    case .timerIndex: "timers' due times"
    case .daemon: "values of the daemon's own"
    default: "\(noun)s"
    }
  }
}

// MARK: - Telling it

extension EngineContext {
  /// Notes that a key, or what begins with it, can't be read: for `health`, and for the log as often as it should hear of it.
  ///
  /// What is `malformed` could be read and then not be understood.
  package func isDamaged(
    _ key: some KeyPart, of subject: [UInt8]? = nil, _ error: StoreError, malformed: Bool = false
  ) {
    if error.isDamage { tell(DamageReport.Thing(key, subject: subject, isMalformed: malformed), error) }
  }

  /// Notes that a key, or what begins with it, could be read, should it have been damaged before.
  @inline(__always)
  package func isWhole(_ key: @autoclosure () -> some KeyPart, malformed: Bool = false) {
    if !damage.isEmpty { mended(StoreKey.bytes { key().appendPart(to: $0) }, malformed) }
  }

  private func mended(_ key: [UInt8], _ isMalformed: Bool) {
    guard let thing = damage.clear(key: key, isMalformed: isMalformed) else { return }
    log.write(LogLine(.info, "\(thing.what) can be read again", subjectHash: thing.subjectHash))
  }

  /// Goes through the keys with that prefix and passes over those that are damaged, which is noted; `passing` is told too.
  package func scan(
    prefix: [UInt8], of kind: StoreKey.Kind, passing: (UnreadableKeys) -> Void = { _ in },
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
  ) throws(StoreError) {
    try scan(from: prefix, to: StoreKey.upperBound(prefix), of: kind, passing: passing, body)
  }

  /// Goes through keys of a kind from `lower` on and below `upper`, and passes over those that are damaged, which is noted; `passing` is told too.
  package func scan(
    from lower: [UInt8], to upper: [UInt8]?, of kind: StoreKey.Kind, passing: (UnreadableKeys) -> Void = { _ in },
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
  ) throws(StoreError) {
    var met: Set<DamageReport.Thing> = []
    var reached = upper
    try withoutActuallyEscaping(passing) { (passing) throws(StoreError) in
      try store.scan(
        from: lower, to: upper,
        skipping: { stretch in
          let thing = DamageReport.Thing(stretch.after, subject: nil, isStretch: true)
          met.insert(thing)
          self.tell(thing, stretch.error)
          passing(stretch)
        }
      ) { key, value in
        let goesOn = body(key, value)
        if !goesOn, !damage.isEmpty { reached = Array(key) }
        return goesOn
      }
    }
    guard !damage.isEmpty else { return }
    let mended = damage.clear(stretchesOf: kind, from: lower, to: reached, but: met)
    if mended > 0 { log.write(LogLine(.info, "\(kind.nouns) can be read again that were damaged")) }
  }

  private func tell(_ thing: DamageReport.Thing, _ error: StoreError) {
    guard damage.note(thing, error, at: clock.now) else { return }
    log.write(
      LogLine(
        .error, "\(thing.what) can't be read, all else goes on; it is tried again: \(error)",
        subjectHash: thing.subjectHash))
  }
}
