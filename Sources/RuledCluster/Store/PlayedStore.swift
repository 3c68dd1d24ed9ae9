import RuledCore
package import RuledStore
import Synchronization

/// A node's own store: the state that results from playing the log of commits back, with the position up to which it was played.
///
/// The log is the source of truth: commits that a crash loses here are played back again. So they are not synced one by one.
package final class PlayedStore: Sendable {
  /// The key under which it stores its position in the log.
  private static let key = StoreKey.bytes { StoreKey.daemon("cluster", into: $0) }
  private static let digestBytes = 32

  /// The underlying store.
  package let store: RocksStore
  private let current: Mutex<LogPosition>
  private let cluster: Mutex<String>

  /// Wraps a store, and reads its position in the log.
  package init(_ store: RocksStore) throws(StoreError) {
    self.store = store
    let value = ByteBuffer(capacity: 128)
    defer { withExtendedLifetime(value) {} }
    let isThere = try Self.key.withView { (key) throws(StoreError) in try store.get(key, into: value) }
    guard isThere else {
      current = Mutex(.start)
      cluster = Mutex("")
      return
    }
    let bytes = value.bytes
    guard bytes.count > 8 + Self.digestBytes else {
      throw StoreError(
        .corrupt,
        "the position in the log of commits can't be read in \(store.path): remove that folder, the log has all of it")
    }
    let digest = bytes.extracting(8..<(8 + Self.digestBytes))
    let sequence = Int64(bitPattern: UInt64(bigEndian: bytes.load(at: 0, as: UInt64.self)))
    current = Mutex(LogPosition(sequence: sequence, digest: Array(digest)))
    cluster = Mutex(String(decoding: bytes.extracting(droppingFirst: 8 + Self.digestBytes), as: UTF8.self))
  }

  /// The position up to which the log was played back.
  package var position: LogPosition { current.withLock { $0 } }

  /// Checks that the store belongs to the cluster `id`, or to none yet.
  func join(_ id: String) throws(StoreError) {
    let known = cluster.withLock { known in
      if known.isEmpty, position == .start { known = id }
      return known
    }
    guard known == id else {
      throw StoreError(
        .diverged,
        "the store at \(store.path) belongs to the cluster \(known), the database to \(id): give this node a folder of its own"
      )
    }
  }

  /// Commits the writes of a batch of the log, and moves the position to `next`.
  ///
  /// The same batch may come again after a crash. That changes nothing, since its writes are puts and deletes.
  func apply(_ batch: ByteView, to next: LogPosition) throws(StoreError) {
    try LogBatch.forEachCommit(in: batch) { (writes) throws(StoreError) in try append(writes) }
    let value = ByteBuffer(capacity: 128)
    value.append(bigEndian: UInt64(bitPattern: next.sequence))
    next.digest.withView { value.append($0) }
    value.append(contentsOf: cluster.withLock { $0 })
    let writes = WriteSet(capacity: 256)
    Self.key.withView { writes.put($0, value.bytes) }
    withExtendedLifetime(value) {}
    try append(writes)
    current.withLock { $0 = next }
  }

  private func append(_ writes: WriteSet) throws(StoreError) {
    while try store.append(writes, isCommitted: true) == nil { try store.makeRoom(for: writes) }
  }
}
