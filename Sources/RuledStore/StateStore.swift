import Glibc
package import RuledCore

/// The store of subjects: an ordered map of bytes that commits sets of writes atomically.
///
/// `StoreKey` and `SubjectRecord` have the layout of keys and records. Any thread may call any method at any time.
package protocol StateStore: AnyObject, Sendable {
  /// The name of the store in `health`: `rocksdb`, `postgresql` or `memory`.
  var name: String { get }

  /// The approximate size of the contents in bytes.
  var approximateBytes: Int { get }

  /// What the store takes on the disk; nil for a store in memory.
  var disk: StoreDisk? { get }

  /// Appends the value under `key` to `buffer`; returns false if there is none.
  func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool

  /// What the store does with commits now.
  var state: StoreState { get }

  /// Commits `set` atomically, after all appends before it.
  ///
  /// With `durable`, the writes and all earlier appends are on the disk when this returns. After an error, nothing of `set` is committed
  /// unless the error has an unknown outcome, and nothing more is appended until `reopen()` has succeeded.
  func commit(_ set: WriteSet, durable: Bool) throws(StoreError)

  /// Appends `set` atomically; returns its number, which is higher than those before.
  ///
  /// Readers see it once it is committed: with `isCommitted` at once, otherwise after `sync()` has made it durable. If that fails, nothing
  /// of it is committed. An error is like that of `commit`, and does not affect earlier appends.
  ///
  /// Returns nil, without appending, if it would have to wait for the disk: call `makeRoom`, without a lock that others need, and try
  /// again.
  func append(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64?

  /// Waits for the disk until a set of `byteCount` bytes can be appended: as many as the set had that `append` did not take.
  func makeRoom(for byteCount: Int) throws(StoreError)

  /// Makes all appends durable and commits them; returns the number of the last committed append.
  ///
  /// An error is like that of `commit`, for all appends that were not committed before. Others may append meanwhile.
  @discardableResult
  func sync() throws(StoreError) -> UInt64

  /// The number of the last append that is committed.
  var committedSequence: UInt64 { get }

  /// Accepts commits again after a failure; appends that were not committed are lost.
  ///
  /// Must not be called from within `withCursor` or `scan`. If it fails, commits still fail, and it may be called again.
  func reopen() throws(StoreError)

  /// The failure of a background task, while commits still succeed; nil if there is none.
  var problem: StoreError? { get }

  /// Calls `body` with a cursor over a snapshot of the keys below `upper`; it does not see later commits.
  func withCursor(
    below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError)

  /// Writes a consistent copy of the store, which can be opened as a store, to the new folder `path`.
  ///
  /// The copy has whole commits only, and all that were committed before the call. The parent folder must exist.
  func checkpoint(to path: String) throws(StoreError)

  /// Lets the store drop remembered outcomes that expire before `cutoff`, in microseconds since 1970.
  ///
  /// It drops them some time later, so readers still have to compare the time in the value.
  func expire(before cutoff: Int64)

  /// Makes all commits durable and releases the files; all later calls fail with `closed`.
  func close() throws(StoreError)
}

/// What a store takes on the disk.
package struct StoreDisk: Sendable {
  /// The bytes that its files take.
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
      if let number = try append(set, isCommitted: false) { return number }
      try makeRoom(for: set.byteCount)
    }
  }

  /// Calls `body` with each key from `lower` on and below `upper`, in ascending byte order, until it returns false.
  ///
  /// All pairs are from one snapshot. The bytes are valid only during the call of `body`. Damaged keys end the scan with an error, unless
  /// `skipping` is given, which is called with them.
  package func scan(
    from lower: ByteView, to upper: ByteView?,
    skipping: ((UnreadableKeys) -> Void)? = nil,
    _ body: (_ key: ByteView, _ value: ByteView) -> Bool
  ) throws(StoreError) {
    try withCursor(below: upper) { (cursor) throws(StoreError) in
      cursor.skipping = skipping
      var found = try cursor.seek(to: lower)
      while found, body(cursor.key, cursor.value) { found = try cursor.next() }
    }
  }

  /// The same for bounds in arrays.
  package func scan(
    from lower: [UInt8], to upper: [UInt8]?, skipping: ((UnreadableKeys) -> Void)? = nil,
    _ body: (_ key: ByteView, _ value: ByteView) -> Bool
  ) throws(StoreError) {
    let bounds = ByteBuffer(capacity: lower.count + (upper?.count ?? 0))
    lower.withView { bounds.append($0) }
    upper?.withView { bounds.append($0) }
    let first = bounds.bytes.extracting(..<lower.count)
    let last = bounds.bytes.extracting(lower.count...)
    try scan(from: first, to: upper == nil ? nil : last, skipping: skipping, body)
    withExtendedLifetime(bounds) {}
  }

  /// Calls `body` with each key that begins with `prefix`, in ascending byte order, until it returns false.
  package func scan(
    prefix: [UInt8], skipping: ((UnreadableKeys) -> Void)? = nil,
    _ body: (_ key: ByteView, _ value: ByteView) -> Bool
  ) throws(StoreError) {
    try scan(from: prefix, to: StoreKey.upperBound(prefix), skipping: skipping, body)
  }
}

/// A position among the keys of a store, as they were when the cursor was made.
///
/// It belongs to the thread and to the call of `withCursor` that gave it.
package protocol StoreCursor: AnyObject {
  /// Moves to the first key that is not below `key`; false when there is none.
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

/// A range of keys that can't be read, as they share a damaged block of a file.
package struct UnreadableKeys: Sendable {
  package let error: StoreError
  /// The last key before them, or where the scan began.
  package let after: [UInt8]
  /// The first key behind them that can be read; nil when there is none.
  package let before: [UInt8]?

  package init(error: StoreError, after: [UInt8], before: [UInt8]?) {
    self.error = error
    self.after = after
    self.before = before
  }

  /// Whether the key may be one of them.
  package func mayHold(_ key: ByteView) -> Bool {
    after.lexicographicallyPrecedes(key) && (before.map { key.lexicographicallyPrecedes($0) } ?? true)
  }
}

/// Why the store could not do something.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A stable name that callers switch on; more may come, so it is open.
  package struct Code: RawRepresentable, Sendable, Hashable {
    /// The name as logs and `health` show it.
    package let rawValue: String

    /// The code of that name.
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Another process, or another store in this one, has the folder open.
    package static let inUse = Code(rawValue: "in_use")
    /// A later version of the daemon wrote the store.
    package static let newerFormat = Code(rawValue: "newer_format")
    /// No space is left on the store's disk.
    package static let diskFull = Code(rawValue: "disk_full")
    /// The operating system refused a file operation.
    package static let inputOutput = Code(rawValue: "io")
    /// Somebody else has removed a file of the store while it was open.
    package static let removed = Code(rawValue: "removed")
    /// Stored bytes are not what was written.
    package static let corrupt = Code(rawValue: "corrupt")
    /// An earlier commit failed, and the store has not been reopened since.
    package static let poisoned = Code(rawValue: "poisoned")
    /// The store has been closed.
    package static let closed = Code(rawValue: "closed")
    /// This kind of store can't do that.
    package static let unsupported = Code(rawValue: "unsupported")
    /// Anything else that the database refuses.
    package static let refused = Code(rawValue: "refused")
  }

  /// What kind of failure it is.
  package var code: Code
  /// What happened and what to do about it, for the operator.
  package var message: String
  /// The database's or the system's own text, may be empty.
  package var underlying: String
  /// Whether it is not known if what failed is on the disk: a restart may find it, or not.
  package var isOutcomeUnknown = false

  /// An error with its code, its sentence and the text of what failed below.
  package init(_ code: Code, _ message: String, underlying: String = "") {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  /// Whether single keys can't be read, while others may be.
  package var isDamage: Bool { code == .corrupt || code == .inputOutput }

  /// The name of the file that `underlying` names, without its folder; nil when it names none.
  package var file: String? {
    let words = underlying.split { $0 == " " || $0 == ":" || $0 == "," || $0 == ";" }
    guard let path = words.first(where: { $0.hasSuffix(".sst") || $0.hasSuffix(".log") }) else { return nil }
    return path.split(separator: "/").last.map(String.init)
  }

  /// The message, followed by the underlying text.
  package var description: String { underlying.isEmpty ? message : "\(message) (\(underlying))" }
}

extension StoreError {
  /// What commits fail with after one that failed; `message` says until when.
  package static func poisoned(by failure: StoreError, _ message: String) -> StoreError {
    var error = StoreError(.poisoned, message, underlying: failure.description)
    error.isOutcomeUnknown = failure.isOutcomeUnknown  // the caller's commit may have failed in another thread's sync
    return error
  }

  /// What every call fails with once the store at `path` is closed.
  static func closed(_ path: String) -> StoreError { StoreError(.closed, "the store at \(path) has been closed") }

  /// An error of a system call, by its `errno`.
  static func system(_ message: String, _ number: Int32) -> StoreError {
    let code: Code = number == ENOSPC || number == EDQUOT ? .diskFull : .inputOutput
    return StoreError(code, message, underlying: String(cString: strerror(number)))
  }
}
