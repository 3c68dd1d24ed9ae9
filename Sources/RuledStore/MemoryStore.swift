package import RuledCore
import Synchronization

/// A store that lasts as long as the process: for tests, backtests and trying things out.
///
/// Making one costs next to nothing. No commit fails. A sync has nothing to do, as each append commits at once.
package final class MemoryStore: StateStore {
  private struct Contents: ~Copyable {
    var map = SortedMap()
    var state = StoreState.open
    var appended: UInt64 = 0
  }

  private let contents = Mutex(Contents())

  package init() {}

  package var name: String { "memory" }

  package func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    try contents.withLock { (contents) throws(StoreError) in
      try Self.requireOpen(contents)
      guard let value = contents.map.value(of: key) else { return false }
      value.withView { buffer.append($0) }
      return true
    }
  }

  package func commit(_ set: WriteSet, durable: Bool) throws(StoreError) {
    try contents.withLock { (contents) throws(StoreError) in
      try Self.requireOpen(contents)
      set.forEach { operation in
        switch operation {
        case .put(let key, let value): contents.map.set(key, value)
        case .delete(let key): contents.map.remove(key)
        case .journal: break
        }
      }
    }
  }

  package func appendCommit(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64? {
    try commit(set, durable: false)
    return contents.withLock { contents in
      contents.appended += 1
      return contents.appended
    }
  }

  package func makeRoom(for byteCount: Int) {}

  @discardableResult
  package func syncCommits() throws(StoreError) -> UInt64 {
    try contents.withLock { (contents) throws(StoreError) in
      try Self.requireOpen(contents)
      return contents.appended
    }
  }

  package var committedSequence: UInt64 { contents.withLock { $0.appended } }

  package var state: StoreState { contents.withLock { $0.state } }

  package func reopen() throws(StoreError) { try syncCommits() }

  package var problem: StoreError? { nil }

  package func withCursor(
    below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    let map = try contents.withLock { (contents) throws(StoreError) in
      try Self.requireOpen(contents)
      return contents.map
    }
    try body(MemoryCursor(map, below: upper.map { Array($0) }))
  }

  package func checkpoint(to path: String) throws(StoreError) {
    throw StoreError(.unsupported, "a store in memory can't be copied to \(path): run with a store on disk for backups")
  }

  package func expire(before cutoff: Int64) {
    contents.withLock { contents in
      for kind in StoreKey.Kind.expiring {
        contents.map.remove(from: [kind.rawValue], to: [kind.rawValue + 1]) { entry in
          entry.value.withView { StoredExpiry.isOver($0, before: cutoff) }
        }
      }
    }
  }

  package func close() throws(StoreError) {
    contents.withLock { $0.state = .closed }
  }

  private static func requireOpen(_ contents: borrowing Contents) throws(StoreError) {
    if case .closed = contents.state { throw StoreError(.closed, "the store in memory has been closed") }
  }
}

/// A cursor over a memory store's map as it was when the cursor was made.
private final class MemoryCursor: StoreCursor {
  private let map: SortedMap
  private let upper: [UInt8]?
  private var position = SortedMap.Position()
  private let currentKey = ByteBuffer()
  private let currentValue = ByteBuffer()
  /// Never called: nothing in memory is damaged.
  var skipping: ((UnreadableKeys) -> Void)?

  init(_ map: SortedMap, below upper: [UInt8]?) {
    self.map = map
    self.upper = upper
  }

  var key: ByteView { currentKey.bytes }

  var value: ByteView { currentValue.bytes }

  func seek(to key: ByteView) throws(StoreError) -> Bool {
    position = map.find(key)
    return read()
  }

  func next() throws(StoreError) -> Bool {
    position = map.position(after: position)
    return read()
  }

  private func read() -> Bool {
    guard let entry = map[position] else { return false }
    if let upper, !entry.key.lexicographicallyPrecedes(upper) { return false }
    currentKey.removeAll()
    currentValue.removeAll()
    entry.key.withView { currentKey.append($0) }
    entry.value.withView { currentValue.append($0) }
    return true
  }
}

/// Byte strings by key, in key order; copies share the chunks that neither has changed.
private struct SortedMap: Sendable {
  struct Entry: Sendable {
    let key: [UInt8]
    var value: [UInt8]
  }

  typealias Position = SortedChunks<Entry>.Position

  private var entries = SortedChunks<Entry>(longestChunk: 256)

  /// The entry at `position`; nil at the end.
  subscript(position: Position) -> Entry? { entries[position] }

  /// The position of the first entry whose key is at or above `key`.
  func find(_ key: ByteView) -> Position { entries.find { Self.compare($0, key) } }

  /// The position behind `position`, which is not the end.
  func position(after position: Position) -> Position { entries.position(after: position) }

  func value(of key: ByteView) -> [UInt8]? {
    guard let entry = self[find(key)], Self.compare(entry, key) == 0 else { return nil }
    return entry.value
  }

  mutating func set(_ key: ByteView, _ value: ByteView) {
    entries.set {
      Self.compare($0, key)
    } replace: {
      $0.value = Array(value)
    } make: {
      Entry(key: Array(key), value: Array(value))
    }
  }

  /// Removes `key`, if it is there.
  mutating func remove(_ key: ByteView) { entries.remove { Self.compare($0, key) } }

  /// Removes the entries from `lower` on and below `upper` that meet `condition`.
  mutating func remove(from lower: [UInt8], to upper: [UInt8], where condition: (Entry) -> Bool) {
    var position = lower.withView { find($0) }
    var doomed: [[UInt8]] = []
    while let entry = self[position], entry.key.lexicographicallyPrecedes(upper) {
      if condition(entry) { doomed.append(entry.key) }
      position = self.position(after: position)
    }
    for key in doomed { key.withView { remove($0) } }
  }

  private static func compare(_ entry: Entry, _ key: ByteView) -> Int {
    entry.key.withView { ByteOrder.compare($0, key) }
  }
}
