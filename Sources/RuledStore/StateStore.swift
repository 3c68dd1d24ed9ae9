package import RuledCore

/// The store of subjects: an ordered map of bytes that commits sets of writes atomically.
///
/// `StoreKey` and `SubjectRecord` have the layout of keys and records. Any thread may call any method at any time.
package protocol StateStore: AnyObject, Sendable {
  /// The name of the store in `health`: `rocksdb`, `postgresql` or `memory`.
  var name: String { get }

  /// The store's use of the disk; nil for a store in memory.
  var disk: StoreDisk? { get }

  /// Appends the value under `key` to `buffer`; returns false if there is none.
  func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool

  /// Whether the store takes commits, and if not, why.
  var state: StoreState { get }

  /// Commits `set` atomically, after all appends before it.
  ///
  /// With `durable`, the writes and all earlier appends are on the disk when this returns. After an error, nothing of `set` is committed
  /// unless the error has an unknown outcome, and nothing more is appended until `reopen()` has succeeded.
  func commit(_ set: WriteSet, durable: Bool) throws(StoreError)

  /// Appends `set` atomically; returns its number, which is higher than those before.
  ///
  /// Readers see it once it is committed: with `isCommitted` at once, otherwise after `syncCommits()` has made it durable. If that fails, nothing
  /// of it is committed. Errors are those of `commit`; they don't affect earlier appends.
  ///
  /// Returns nil, without appending, if it would have to wait for the disk: call `makeRoom`, without a lock that others need, and try
  /// again.
  func appendCommit(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64?

  /// Waits for the disk until a set of `byteCount` bytes can be appended: as many as the set had that `appendCommit` did not take.
  func makeRoom(for byteCount: Int) throws(StoreError)

  /// Makes all appends durable and commits them; returns the number of the last committed append.
  ///
  /// Errors are those of `commit`, and concern all uncommitted appends. Other threads may append meanwhile.
  @discardableResult
  func syncCommits() throws(StoreError) -> UInt64

  var committedSequence: UInt64 { get }

  /// Accepts commits again after a failure; uncommitted appends are lost.
  ///
  /// Must not be called from within `withCursor` or `scan`. If it fails, commits still fail, and it may be called again.
  func reopen() throws(StoreError)

  /// The failure of a background task, while commits still succeed; nil if there is none.
  var problem: StoreError? { get }

  /// Calls `body` with a cursor over a snapshot of the keys below `upper`; it does not see later commits.
  func withCursor(below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void) throws(StoreError)

  /// Writes a consistent copy of the store, which can be opened as a store, to the new folder `path`.
  ///
  /// The copy has whole commits only, among them all from before the call. The parent folder must exist.
  func checkpoint(to path: String) throws(StoreError)

  /// Lets the store drop remembered outcomes that expire before `cutoff`, in microseconds since 1970.
  ///
  /// It drops them some time later, so readers still have to compare the time in the value.
  func expire(before cutoff: Int64)

  /// Makes all commits durable and releases the files; all later calls fail with `closed`.
  func close() throws(StoreError)
}

package struct StoreDisk: Sendable {
  package let bytes: Int
  /// The bytes of committed log that are not in the database yet.
  package let logBytes: Int
  /// The number of sealed segments that wait to be flushed to the database.
  package let sealedSegments: Int
}

extension StateStore {
  package var disk: StoreDisk? { nil }

  /// Appends `set`, waiting for the disk if necessary; returns its number.
  package func append(_ set: WriteSet) throws(StoreError) -> UInt64 {
    while true {
      if let number = try appendCommit(set, isCommitted: false) { return number }
      try makeRoom(for: set.byteCount)
    }
  }

  /// Calls `body` with each key from `lower` on and below `upper`, in ascending byte order, until it returns false.
  ///
  /// All pairs are from one snapshot. The bytes are valid only during the call of `body`. Damaged keys end the scan with an error, unless
  /// `skipping` is given, which is called with them.
  package func scan(
    from lower: [UInt8], to upper: [UInt8]?, skipping: ((UnreadableKeys) -> Void)? = nil,
    _ body: (_ key: ByteView, _ value: ByteView) -> Bool
  ) throws(StoreError) {
    try lower.withView { (lower) throws(StoreError) in
      try (upper ?? []).withView { (end) throws(StoreError) in
        try withCursor(below: upper == nil ? nil : end) { (cursor) throws(StoreError) in
          cursor.skipping = skipping
          var found = try cursor.seek(to: lower)
          while found, body(cursor.key, cursor.value) { found = try cursor.next() }
        }
      }
    }
  }

  /// Calls `body` with each key that begins with `prefix`, in ascending byte order, until it returns false.
  package func scan(
    prefix: [UInt8], skipping: ((UnreadableKeys) -> Void)? = nil, _ body: (_ key: ByteView, _ value: ByteView) -> Bool
  ) throws(StoreError) {
    try scan(from: prefix, to: StoreKey.upperBound(prefix), skipping: skipping, body)
  }
}

/// A position among the keys of a store, as they were when the cursor was made.
///
/// It belongs to the thread and to the call of `withCursor` that gave it.
package protocol StoreCursor: AnyObject {
  /// Moves to the first key at or above `key`; false when there is none.
  func seek(to key: ByteView) throws(StoreError) -> Bool

  /// Moves to the next key; false when there is none. Only after a move that found one.
  func next() throws(StoreError) -> Bool

  /// The key at the position, valid until the next move; only after a move that found one.
  var key: ByteView { get }

  /// The value at the position, valid until the next move; only after a move that found one.
  var value: ByteView { get }

  /// Called with damaged keys, which moves then skip. While it is nil, a move to damaged keys throws. Set it before the first move.
  var skipping: ((UnreadableKeys) -> Void)? { get set }
}
