import RuledCore
import RuledEngine
import Synchronization

/// The last changes in the order in which they were committed, for whoever watches.
///
/// The committer publishes; watchers read at their own pace, each with a cursor of its own, so that a slow one costs the others nothing.
/// The changes of a batch stay in the bytes in which the evaluator wrote them.
final class WatchHub: Sendable {
  /// The changes of one batch.
  struct Chunk: Sendable {
    /// The sequence of the first.
    let first: UInt64
    let log: ChangeLog

    var end: UInt64 { first + UInt64(log.count) }
  }

  private struct State {
    var last: UInt64 = 0
    var chunks: [Chunk] = []
    /// The first chunk that still counts.
    var head = 0
    var bytes = 0
    var waiting: [UInt64: @Sendable () -> Void] = [:]
  }

  /// How many bytes of changes are kept at most, should they be unusually large.
  private static let mostBytes = 128 << 20
  private static let chunksAtOnce = 64

  private let spare: ChangeLogPool
  private let state = Mutex(State())
  private let numbers = Atomic<Int64>(0)

  /// A hub without changes, which gives those that nobody wants any longer to `spare`.
  init(spare: ChangeLogPool) { self.spare = spare }

  /// The sequence of the last change.
  var last: UInt64 { state.withLock { $0.last } }

  /// Goes on behind the sequence that the store holds; before anything is published.
  func begin(after sequence: UInt64) { state.withLock { $0.last = sequence } }

  /// The number of the next watcher.
  func nextNumber() -> Int64 { numbers.wrappingAdd(1, ordering: .relaxed).newValue }

  // MARK: Publishing

  /// Adds committed changes, which get the next sequences in order, and wakes those who wait.
  func publish(_ logs: [ChangeLog]) {
    let woken = state.withLock { state -> [@Sendable () -> Void] in
      for log in logs where !log.isEmpty {
        state.chunks.append(Chunk(first: state.last + 1, log: log))
        state.last += UInt64(log.count)
        state.bytes += log.bytes.capacity
      }
      evict(&state)
      guard !state.waiting.isEmpty else { return [] }
      let woken = Array(state.waiting.values)
      state.waiting.removeAll(keepingCapacity: true)
      return woken
    }
    for wake in woken { wake() }
  }

  private func evict(_ state: inout State) {
    let oldest = Self.oldest(state)
    while state.head < state.chunks.count,
      state.chunks[state.head].end <= oldest || (state.bytes > Self.mostBytes && state.head + 1 < state.chunks.count)
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

  // MARK: Reading

  /// The first changes behind `sequence`, and the oldest sequence that is still held; no chunks when there is nothing new.
  func read(after sequence: UInt64) -> (chunks: [Chunk], oldest: UInt64) {
    state.withLock { state in
      let oldest = Self.oldest(state)
      let wanted = max(sequence + 1, oldest)
      var low = state.head
      var high = state.chunks.count
      while low < high {
        let middle = (low + high) / 2
        if state.chunks[middle].end <= wanted { low = middle + 1 } else { high = middle }
      }
      return (Array(state.chunks[low..<min(low + Self.chunksAtOnce, state.chunks.count)]), oldest)
    }
  }

  /// Has `body` called once, on the committer's thread, at the next change; false when there are changes behind `sequence` already.
  func wake(_ key: UInt64, after sequence: UInt64, _ body: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard state.last <= sequence else { return false }
      state.waiting[key] = body
      return true
    }
  }

  /// Takes back what `wake` was asked for.
  func cancel(_ key: UInt64) { state.withLock { $0.waiting[key] = nil } }
}
