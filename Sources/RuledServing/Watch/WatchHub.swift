import RuledCore
import RuledEngine
import RuledJSON
import RuledJournal
import RuledStore
import Synchronization

/// The last changes in the order in which they were committed, for the watches of all threads.
///
/// The thread that syncs a commit adds its changes. Each thread with watches reads at its own pace, so that a slow one does not delay the
/// others. The changes of a commit batch remain in the bytes that the evaluator wrote.
final class WatchHub: Sendable {
  /// The changes of one batch.
  struct Chunk: Sendable {
    let first: UInt64
    let log: ChangeLog

    var end: UInt64 { first + UInt64(log.count) }
  }

  /// Some changes that follow each other.
  struct Page {
    let chunks: [Chunk]
    /// The oldest sequence that the hub holds.
    let oldest: UInt64
    fileprivate let forgotten: [UInt64: UInt64]

    /// Whether the subject of the change `sequence` was forgotten after it.
    func isForgotten(_ change: ChangeLog.View, _ sequence: UInt64) -> Bool {
      !forgotten.isEmpty && forgotten[hash64(change.subject)].map { sequence < $0 } == true
    }
  }

  private struct State {
    var last: UInt64 = 0
    var chunks: [Chunk] = []
    /// The index of the oldest chunk; the earlier ones are evicted.
    var head = 0
    var bytes = 0
    /// The sequence at which a subject was forgotten, by the subject's hash.
    var forgotten: [UInt64: UInt64] = [:]
    var waiting: [UInt64: @Sendable () -> Void] = [:]
    var watches = 0
    var filterBytes = 0
  }

  /// The most chunks that a page has.
  private static let pageChunks = 64

  private let spare: ChangeLogPool
  private let state = Mutex(State())
  private let numbers = Atomic<Int64>(0)

  /// A hub without changes.
  ///
  /// It leaves evicted change logs to `spare`.
  init(spare: ChangeLogPool) { self.spare = spare }

  var last: UInt64 { state.withLock { $0.last } }

  /// Continues from the stored sequence, with the changes before it.
  ///
  /// Call it before changes are added.
  func begin(after sequence: UInt64, _ past: [Chunk] = []) {
    state.withLock { state in
      state.last = sequence
      state.chunks = past
      state.bytes = past.reduce(0) { $0 + $1.log.bytes.capacity }
    }
  }

  func nextNumber() -> Int64 { numbers.wrappingAdd(1, ordering: .relaxed).newValue }

  var watches: Int { state.withLock { $0.watches } }

  /// Counts a watch whose filter takes so many bytes; false if that would be too many watches, or too many bytes.
  func addWatch(bytes: Int) -> Bool {
    state.withLock { state in
      guard state.watches < Limits.watches, state.filterBytes + bytes <= Limits.filterBytes else { return false }
      state.watches += 1
      state.filterBytes += bytes
      return true
    }
  }

  /// Counts watches as ended, whose filters took so many bytes.
  func removeWatches(_ count: Int, bytes: Int) {
    state.withLock { state in
      state.watches -= count
      state.filterBytes -= bytes
    }
  }

  /// Adds committed changes, which get the next sequences in order, and wakes the threads that wait.
  func addChanges(_ logs: [ChangeLog]) {
    let woken = state.withLock { state -> [@Sendable () -> Void] in
      for log in logs where !log.isEmpty {
        for index in log.forgotten {
          state.forgotten[hash64(log[index].subject)] = state.last + 1 + UInt64(index)
        }
        state.chunks.append(Chunk(first: state.last + 1, log: log))
        state.last += UInt64(log.count)
        state.bytes += log.bytes.capacity
      }
      dropOld(&state)
      guard !state.waiting.isEmpty else { return [] }
      let woken = Array(state.waiting.values)
      state.waiting.removeAll(keepingCapacity: true)
      return woken
    }
    for wake in woken { wake() }
  }

  private func dropOld(_ state: inout State) {
    let oldest = Self.oldest(state)
    if state.forgotten.count > 2 * Limits.watchHistory {
      state.forgotten = state.forgotten.filter { $0.value > oldest }
    }
    while state.head < state.chunks.count,
      state.chunks[state.head].end <= oldest
        || (state.bytes > Limits.watchHistoryBytes && state.head + 1 < state.chunks.count)
    {
      let log = state.chunks[state.head].log
      state.bytes -= log.bytes.capacity
      state.chunks[state.head] = Chunk(first: 0, log: Self.none)
      spare.giveBack(consume log)
      state.head += 1
    }
    if state.head > 1024, state.head * 2 > state.chunks.count {
      state.chunks.removeFirst(state.head)
      state.head = 0
    }
  }

  private static let none = ChangeLog()

  private static func oldest(_ state: State) -> UInt64 {
    let history = UInt64(Limits.watchHistory)
    let bound = state.last >= history ? state.last - history + 1 : 1
    guard state.head < state.chunks.count else { return state.last + 1 }
    return max(bound, state.chunks[state.head].first)
  }

  /// The first changes after `sequence`; no chunks if there is none.
  func page(after sequence: UInt64) -> Page {
    state.withLock { state in
      let oldest = Self.oldest(state)
      let wanted = max(sequence + 1, oldest)
      let first = state.chunks[state.head...].partitioningIndex { $0.end > wanted }
      return Page(
        chunks: Array(state.chunks[first...].prefix(Self.pageChunks)), oldest: oldest, forgotten: state.forgotten)
    }
  }

  /// Calls `body` once at the next change, on the thread that adds it; false if there are changes after `sequence` already.
  func wake(_ key: UInt64, after sequence: UInt64, _ body: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard state.last <= sequence else { return false }
      state.waiting[key] = body
      return true
    }
  }

  func cancel(_ key: UInt64) { state.withLock { $0.waiting[key] = nil } }

  // MARK: The past

  /// The bytes from which on a chunk of past changes is complete.
  private static let pastChunkBytes = 64 << 10

  /// Continues after the sequence `last` with the journal's changes up to it: those of earlier processes, and those of other nodes of a cluster.
  ///
  /// Call it before changes are added.
  func begin(after last: UInt64, changesOf journal: LiveJournal) throws(StoreError) {
    var next = try journal.firstChange(through: last, count: Limits.watchHistory, byteCount: Limits.watchHistoryBytes)
    var chunks = [Chunk(first: next, log: ChangeLog())]
    let document = TapeDocument()
    /// Returns the chunk for the change `sequence`, after adding the missing ones before it, whose subjects were forgotten.
    func log(for sequence: UInt64) -> ChangeLog {
      if chunks[chunks.count - 1].log.bytes.count >= Self.pastChunkBytes {
        chunks.append(Chunk(first: next, log: ChangeLog()))
      }
      let log = chunks[chunks.count - 1].log
      while next < sequence {
        log.appendUnseen()
        next += 1
      }
      return log
    }
    let areAllRead = try journal.forEachChange(from: next, through: last) { change in
      let isWhole = log(for: change.sequence).append(change, document)
      next += 1
      if !isWhole { chunks = [Chunk(first: next, log: ChangeLog())] }
    }
    // The next attempt begins behind the damage that this one has found.
    guard areAllRead else { return try begin(after: last, changesOf: journal) }
    _ = log(for: last + 1)
    begin(after: last, chunks.filter { !$0.log.isEmpty })
  }
}

/// The sequence of the last change in the store, committed together with the change.
enum WatchSequence {
  static func put(_ sequence: UInt64, into writes: WriteSet, key: ByteBuffer, value: ByteBuffer) {
    key.removeAll()
    StoreKey.daemon(StoreKey.sequenceName, into: key)
    value.removeAll()
    value.append(bigEndian: sequence)
    writes.put(key.bytes, value.bytes)
  }

  /// The last committed sequence, 0 in a fresh store.
  ///
  /// If it can't be read, the sequence continues from the time in microseconds. There can't have been that many changes, so no sequence means two.
  static func last(in context: EngineContext) throws(StoreError) -> UInt64 {
    do throws(StoreError) {
      guard let value = try StoredValue.sequence.read(from: context.store) else { return 0 }
      guard let number = value.number else { throw StoreError(.corrupt, "the last change's number has another form") }
      return number
    } catch {
      guard error.isDamage else { throw error }
      context.noteDamage(StoredValue.sequence.key, error)
      return UInt64(max(context.clock.now.microseconds, 0))
    }
  }
}

extension ChangeLog {
  /// Adds a change of the journal, whose event `document` parses; false if the journal lacks some of it.
  fileprivate func append(_ change: JournaledChange, _ document: TapeDocument) -> Bool {
    switch change.origin {
    case .forget: append(forgotten: change.subject)
    case .rules: appendUnseen()
    case .client, .message, .timer, .retry, .kept:
      guard let plugins = change.plugins, let event = try? document.parse(copyOf: change.event),
        let id = change.id ?? event.member("id")?.string, let type = event.member("type")?.string
      else { return false }
      append(change.outcome, of: change.subject, id: id, type: type) { $0.append(plugins) }
    }
    return true
  }
}
