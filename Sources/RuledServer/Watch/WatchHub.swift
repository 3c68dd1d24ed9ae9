import RuledCore
import RuledEngine
import RuledJSON
import RuledStore
import RuledWire
import Synchronization

/// The last changes in the order in which they were committed, for watchers.
///
/// The thread that syncs a commit publishes its changes. Each watcher reads at its own pace with a cursor of its own, so that a slow one does not delay
/// the others. The changes of a commit batch remain in the bytes that the evaluator wrote.
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
    /// The index of the oldest chunk; those before it are evicted.
    var head = 0
    var bytes = 0
    var waiting: [UInt64: @Sendable () -> Void] = [:]
  }

  /// How many bytes of changes are held at most; as a rule `Limits.watchHistory` is reached first.
  private static let byteLimit = 128 << 20
  /// How many chunks `read` returns at most.
  private static let pageChunks = 64

  private let spare: ChangeLogPool
  private let state = Mutex(State())
  private let numbers = Atomic<Int64>(0)

  /// A hub without changes.
  ///
  /// It leaves evicted change logs to `spare`.
  init(spare: ChangeLogPool) { self.spare = spare }

  /// The sequence of the last change.
  var last: UInt64 { state.withLock { $0.last } }

  /// Continues from the sequence that the store holds.
  ///
  /// To be called before anything is published.
  func begin(after sequence: UInt64) { state.withLock { $0.last = sequence } }

  /// The number of the next watcher.
  func nextNumber() -> Int64 { numbers.wrappingAdd(1, ordering: .relaxed).newValue }

  // MARK: Publishing

  /// Adds committed changes, which get the next sequences in order, and wakes the watchers that wait.
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
      state.chunks[state.head].end <= oldest || (state.bytes > Self.byteLimit && state.head + 1 < state.chunks.count)
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

  /// The first changes after `sequence`, and the oldest sequence that is held.
  ///
  /// No chunks if there is no change after `sequence`.
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
      return (Array(state.chunks[low..<min(low + Self.pageChunks, state.chunks.count)]), oldest)
    }
  }

  /// Calls `body` once at the next change, on the thread that publishes it; false if there are changes after `sequence` already.
  func wake(_ key: UInt64, after sequence: UInt64, _ body: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard state.last <= sequence else { return false }
      state.waiting[key] = body
      return true
    }
  }

  /// Cancels a call of `wake`.
  func cancel(_ key: UInt64) { state.withLock { $0.waiting[key] = nil } }
}

/// The sequence of the last change in the store, committed together with the change.
enum WatchSequence {
  /// Adds it to the writes of a commit.
  static func write(_ sequence: UInt64, to writes: WriteSet, key: ByteBuffer, value: ByteBuffer) {
    key.removeAll()
    StoreKey.daemon(StoreKey.sequenceName, into: key)
    value.removeAll()
    value.append(bigEndian: sequence)
    writes.put(key.bytes, value.bytes)
  }

  /// The sequence that was committed last, 0 in a fresh store.
  ///
  /// If it can't be read, the sequence continues from the time in microseconds. There can't have been that many changes, so no sequence means two.
  static func read(from context: EngineContext) throws(StoreError) -> UInt64 {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon(StoreKey.sequenceName, into: key)
    let value = ByteBuffer(capacity: 8)
    do throws(StoreError) {
      guard try context.store.get(key.bytes, into: value) else { return 0 }
      guard value.count == 8 else { throw StoreError(.corrupt, "the last change's number has another form") }
      return UInt64(bigEndian: value.bytes.load(at: 0, as: UInt64.self))
    } catch {
      guard error.isDamage else { throw error }
      context.noteDamage(key.bytes, error)
      return UInt64(max(context.clock.now.microseconds, 0))
    }
  }
}

/// What one watcher wants, and how far it has read.
struct WatchCursor: Sendable {
  /// What a watcher gets next.
  enum News {
    /// That many changes were evicted before they could be read.
    case lagged(missed: UInt64)
    /// A change, as the JSON members of its notification after `watch` and `sequence`.
    case changed(sequence: UInt64, members: ByteView)
  }

  /// The watcher's number.
  let number: Int64
  private let filter: WatchFilter
  /// The sequence of the last change that was read.
  private(set) var after: UInt64

  /// A watcher that begins where its params say.
  init(_ params: WatchParams, hub: WatchHub) {
    number = hub.nextNumber()
    filter = WatchFilter(params)
    let last = hub.last
    after = params.after.map { min(UInt64($0), last) } ?? last
  }

  /// Passes the changes after the cursor to `body` while `hasRoom` returns true; false if it ended for lack of room.
  mutating func read(_ hub: WatchHub, while hasRoom: () -> Bool, _ body: (News) -> Void) -> Bool {
    while true {
      let page = hub.read(after: after)
      if page.oldest > after + 1 {
        guard hasRoom() else { return false }
        body(.lagged(missed: page.oldest - after - 1))
        after = page.oldest - 1
      }
      guard !page.chunks.isEmpty else { return true }
      for chunk in page.chunks {
        for index in chunk.log.indices(from: Int(after + 1 - chunk.first)) {
          let change = chunk.log[index]
          if filter.wants(change) {
            guard hasRoom() else { return false }
            body(.changed(sequence: after + 1, members: change.members))
          }
          after += 1
        }
      }
    }
  }

  /// Appends the params of a notification as a JSON object.
  func write(_ news: News, to buffer: ByteBuffer) {
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("watch", number)
    switch news {
    case .lagged(let missed): writer.member("missed", missed)
    case .changed(let sequence, let members):
      writer.member("sequence", sequence)
      writer.raw(members)
    }
    writer.endObject()
  }
}

extension ChangeLog {
  fileprivate func indices(from first: Int) -> Range<Int> { min(max(first, 0), count)..<count }
}

/// Which changes a watcher wants.
struct WatchFilter: Sendable {
  private let subject: [UInt8]?
  private let prefix: [UInt8]
  private let plugins: [[UInt8]]?

  /// What the params of `watch` ask for.
  init(_ params: WatchParams) {
    subject = params.subject.map { Array($0.utf8) }
    prefix = Array(params.prefix.utf8)
    plugins = params.plugins.map { names in names.map { Array("\"\($0)\"".utf8) } }
  }

  /// Whether the change is wanted.
  func wants(_ change: ChangeLog.View) -> Bool {
    guard !change.members.isEmpty else { return false }
    if let subject, !change.subject.elementsEqual(subject) { return false }
    guard change.subject.starts(with: prefix) else { return false }
    guard let plugins else { return true }
    return change.plugins.split(separator: UInt8(ascii: ",")).contains { name in
      plugins.contains { $0.elementsEqual(name) }
    }
  }
}
