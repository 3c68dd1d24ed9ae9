import RuledCore
import RuledStore
import Synchronization

/// A store in memory that counts how often it is asked and what is written to it.
final class CountingStore: StateStore {
  private let store = MemoryStore()
  /// How many keys were looked up.
  let reads = Atomic<Int>(0)
  /// How many cursors were opened.
  let scans = Atomic<Int>(0)
  /// How many writes were committed.
  let writes = Atomic<Int>(0)

  var name: String { store.name }
  var committedSequence: UInt64 { store.committedSequence }
  var state: StoreState { store.state }

  var problem: StoreError? { store.problem }

  func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    reads.wrappingAdd(1, ordering: .relaxed)
    return try store.get(key, into: buffer)
  }

  func commit(_ set: WriteSet, durable: Bool) throws(StoreError) {
    writes.wrappingAdd(set.count, ordering: .relaxed)
    try store.commit(set, durable: durable)
  }

  func appendCommit(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64? {
    writes.wrappingAdd(set.count, ordering: .relaxed)
    return try store.appendCommit(set, isCommitted: isCommitted)
  }

  func makeRoom(for byteCount: Int) {}

  func syncCommits() throws(StoreError) -> UInt64 { try store.syncCommits() }

  func reopen() throws(StoreError) { try store.reopen() }

  func withCursor(
    below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    scans.wrappingAdd(1, ordering: .relaxed)
    try store.withCursor(below: upper, body)
  }

  func checkpoint(to path: String) throws(StoreError) { try store.checkpoint(to: path) }

  func expire(before cutoff: Int64) { store.expire(before: cutoff) }

  func close() throws(StoreError) { try store.close() }
}
