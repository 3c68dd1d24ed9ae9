package import RuledCore
import Synchronization

/// A store that lasts as long as the process: for tests, backtests and trying things out.
///
/// Making one costs next to nothing. `durable` and `sync()` have nothing to do, no commit fails, and what is appended counts at once.
package final class MemoryStore: StateStore {
  private struct Contents: ~Copyable {
    var map = SortedMap()
    var isClosed = false
    var appended: UInt64 = 0
  }

  private let contents = Mutex(Contents())

  /// An empty store.
  package init() {}

  package var name: String { "memory" }

  package var approximateBytes: Int { contents.withLock { $0.map.byteCount } }

  package func get(_ key: UnsafeRawBufferPointer, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    try contents.withLock { (contents) throws(StoreError) in
      try Self.requireOpen(contents)
      let (position, found) = contents.map.find(key)
      guard found, let entry = contents.map[position] else { return false }
      entry.value.withUnsafeBytes { buffer.append($0) }
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
        }
      }
    }
  }

  package func append(_ set: WriteSet) throws(StoreError) -> UInt64 {
    try commit(set, durable: true)
    return contents.withLock { contents in
      contents.appended += 1
      return contents.appended
    }
  }

  @discardableResult
  package func sync() throws(StoreError) -> UInt64 {
    try contents.withLock { (contents) throws(StoreError) in
      try Self.requireOpen(contents)
      return contents.appended
    }
  }

  package var lastCommitted: UInt64 { contents.withLock { $0.appended } }

  package func reopen() throws(StoreError) { try sync() }

  package var problem: StoreError? { nil }

  package func withCursor(
    below upper: UnsafeRawBufferPointer?, _ body: (any StoreCursor) throws(StoreError) -> Void
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
          entry.value.withUnsafeBytes { StoredExpiry.isOver($0, before: cutoff) }
        }
      }
    }
  }

  package func close() throws(StoreError) {
    contents.withLock { $0.isClosed = true }
  }

  private static func requireOpen(_ contents: borrowing Contents) throws(StoreError) {
    if contents.isClosed { throw StoreError(.closed, "the store in memory has been closed") }
  }
}
