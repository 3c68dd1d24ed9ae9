import RuledCore
import RuledStore

/// A store that accepts every commit and stores nothing, for measuring what is in front of it.
final class ForgetfulStore: StateStore {
  private let empty = MemoryStore()
  private let committing: @Sendable () -> Void

  /// A store that calls `committing` at each commit.
  init(committing: @escaping @Sendable () -> Void = {}) { self.committing = committing }

  var name: String { "forgetful" }

  func get(_ key: ByteView, into buffer: ByteBuffer) -> Bool { false }

  func commit(_ set: WriteSet, durable: Bool) { committing() }

  func appendCommit(_ set: WriteSet, isCommitted: Bool) -> UInt64? {
    if isCommitted { committing() }
    return 0
  }

  func makeRoom(for byteCount: Int) {}

  func syncCommits() -> UInt64 { 0 }

  var committedSequence: UInt64 { 0 }

  var state: StoreState { .open }

  var problem: StoreError? { nil }

  func reopen() {}

  func withCursor(
    below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    try empty.withCursor(below: upper, body)
  }

  func checkpoint(to path: String) {}

  func expire(before cutoff: Int64) {}

  func close() {}
}
