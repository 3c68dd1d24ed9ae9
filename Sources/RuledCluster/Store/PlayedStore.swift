import RuledCore
package import RuledStore
import Synchronization

/// A node's own store: the state that results from playing the log of commits back, with the position up to which it was played.
///
/// The log is the source of truth: commits that a crash loses here are played back again. So they are not synced one by one.
package final class PlayedStore: Sendable {
  /// The key under which it stores its position in the log.
  private static let stored = StoredValue(name: "cluster")
  private static let digestBytes = 32
  /// The bytes from which on played commits are appended together.
  private static let fullBytes = 1 << 20
  /// The most bytes of memory that are kept for the next batch.
  private static let mostKeptBytes = 4 << 20

  package let store: RocksStore
  private let current: Mutex<LogPosition>
  private let cluster: Mutex<String>
  /// The writes to append next; empty between two batches.
  private let writes = Mutex(WriteSet())

  /// Wraps a store, and reads its position in the log.
  ///
  /// Throws `refused` for a store with commits and no position: it belongs to a daemon outside of any cluster.
  package init(_ store: RocksStore) throws(StoreError) {
    self.store = store
    guard let value = try Self.stored.read(from: store) else {
      guard try Self.isUnused(store) else {
        throw StoreError(
          .refused,
          "the store at \(store.path) is that of a single daemon, and no node's: give the node another cluster.folder, or move that one "
            + "away; to bring what it has into a new cluster, run 'ruled --import \(store.path)' before the first node starts"
        )
      }
      current = Mutex(.start)
      cluster = Mutex("")
      return
    }
    let bytes = value.bytes
    defer { withExtendedLifetime(value) {} }
    guard bytes.count > 8 + Self.digestBytes else {
      throw StoreError(
        .corrupt,
        "the position in the log of commits can't be read in \(store.path): remove that folder, the log has all of it")
    }
    let digest = bytes.extracting(8..<(8 + Self.digestBytes))
    let sequence = Int64(bitPattern: UInt64(bigEndian: bytes.load(at: 0, as: UInt64.self)))
    current = Mutex(sequence == 0 ? .start : LogPosition(sequence: sequence, digest: Array(digest)))
    cluster = Mutex(bytes.extracting(droppingFirst: 8 + Self.digestBytes).text)
  }

  /// The position up to which the log was played back.
  var position: LogPosition { current.withLock { $0 } }

  private static func isUnused(_ store: RocksStore) throws(StoreError) -> Bool {
    var isUnused = true
    try store.scanCommitted { _, _ in
      isUnused = false
      return false
    }
    return isUnused
  }

  /// Whether a store belongs, or belonged, to a node of a cluster.
  static func hasPosition(_ store: RocksStore) throws(StoreError) -> Bool {
    try stored.read(from: store) != nil
  }

  /// Removes the position from a store that a single daemon serves from now on, so that no node takes it for a node's again; false if there is none.
  package static func leaveCluster(_ store: RocksStore) throws(StoreError) -> Bool {
    guard try hasPosition(store) else { return false }
    try stored.remove(from: store)
    return true
  }

  /// Checks that the store belongs to the cluster `id`; one that belongs to none yet joins it.
  func join(_ id: String) throws(StoreError) {
    let known = cluster.withLock { $0 }
    if known.isEmpty {
      cluster.withLock { $0 = id }
      // So that a crash after the first writes does not leave a store without a position.
      let writes = WriteSet(capacity: 256)
      putPosition(.start, in: writes)
      return try append(writes)
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
  /// The same batch may come again after a crash. That changes nothing, since its writes are puts and deletes. The commits of a batch are
  /// appended together: each append is a write to a file.
  func apply(_ batch: ByteView, to next: LogPosition) throws(StoreError) {
    try writes.withLock { (writes) throws(StoreError) in
      defer { if writes.capacity > Self.mostKeptBytes { writes = WriteSet() } else { writes.removeAll() } }
      try LogBatch.forEachCommit(in: batch, into: writes) { () throws(StoreError) in
        guard writes.byteCount >= Self.fullBytes else { return }
        try append(writes)
        writes.removeAll()
      }
      putPosition(next, in: writes)
      try append(writes)
    }
    current.withLock { $0 = next }
  }

  /// As `apply(_:to:)` for bytes, for a batch that this node has written to the log itself.
  ///
  /// The position joins the batch's writes, so empty the batch afterwards.
  func apply(_ batch: LogBatch, to next: LogPosition) throws(StoreError) {
    guard batch.writes.byteCount < Self.fullBytes else { return try apply(batch.bytes, to: next) }
    putPosition(next, in: batch.writes)
    try append(batch.writes)
    current.withLock { $0 = next }
  }

  private func putPosition(_ position: LogPosition, in writes: WriteSet) {
    let digest = position == .start ? [UInt8](repeating: 0, count: Self.digestBytes) : position.digest
    Self.stored.put(into: writes) { value in
      value.append(bigEndian: UInt64(bitPattern: position.sequence))
      digest.withView { value.append($0) }
      value.append(contentsOf: cluster.withLock { $0 })
    }
  }

  private func append(_ writes: WriteSet) throws(StoreError) {
    while try store.appendCommit(writes, isCommitted: true) == nil { try store.makeRoom(for: writes.byteCount) }
  }
}

extension PlayedStore {
  /// The store of the node that owns the log, which `writer` writes, once this one has played it back to its end; from then on no other code uses
  /// either, except to read.
  ///
  /// `problem` tells the lease's problem while commits succeed. `onLoss` is called when the node no longer owns the log, or can't know whether it
  /// does: then all commits fail, and only `close` makes sense.
  package func owned(
    by writer: LogWriter, problem: @escaping @Sendable () -> StoreError?,
    onLoss: @escaping @Sendable (StoreError) -> Void
  ) -> any StateStore {
    ClusterStore(self, writer: writer, problem: problem, onLoss: onLoss)
  }
}
