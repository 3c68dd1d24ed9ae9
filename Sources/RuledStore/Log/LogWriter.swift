import RuledCore
import RuledThreads

/// Who writes to the log when: one append at a time and one sync at a time, but an append during a sync.
///
/// What is appended counts once it is synced. After a failure nothing more is appended until the log has been repaired.
///
/// Locks, in the order in which they are taken: `appending`, `syncing`, `tail`, then the log's own. No sync is made under `tail`.
final class LogWriter: @unchecked Sendable {  // what changes is guarded by `tail`
  private let log: RedoLog
  private let path: String
  /// Held by whoever appends, from looking for room to the write.
  private let appending = Condition()
  /// Held by whoever syncs or begins another segment.
  private let syncing = Condition()
  /// The lock on the log's end.
  private let tail = Condition()
  /// How many commits were appended.
  private var appended: UInt64 = 0
  /// The number of the last of them that counts.
  private var counted: UInt64 = 0
  /// Why the last write failed.
  private var failure: StoreError?
  private var isClosed = false

  /// A writer of the log of the store at `path`.
  init(_ log: RedoLog, of path: String) {
    self.log = log
    self.path = path
  }

  /// Runs `body` while nobody else appends; `append` and `commit` are called from in there.
  func exclusively<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try appending.locked(body)
  }

  /// Appends a commit, and gives its number.
  func append(_ records: UnsafeRawBufferPointer) throws(StoreError) -> UInt64 {
    try makeRoom(for: records.count)
    return try tail.locked { () throws(StoreError) in try appendAtTail(records) }
  }

  /// Appends a commit that counts when this returns, and waits for the disk when it is to be durable or others before it do not count yet.
  func commit(_ records: UnsafeRawBufferPointer, durable: Bool) throws(StoreError) {
    try makeRoom(for: records.count)
    let counts = try tail.locked { () throws(StoreError) in
      let isFirst = !log.hasUncounted
      _ = try appendAtTail(records)
      guard !durable, isFirst else { return false }
      log.acceptAll()
      counted = appended
      return true
    }
    if !counts { _ = try sync() }
  }

  private func appendAtTail(_ records: UnsafeRawBufferPointer) throws(StoreError) -> UInt64 {
    try check()
    do throws(StoreError) { try log.append(records) } catch {
      failure = error
      throw error
    }
    appended += 1
    return appended
  }

  /// Makes durable what was appended, and gives the number of the last commit that counts.
  ///
  /// After a failure the log is repaired before the error is thrown, so that nothing of what does not count is found by a later start; the error says if
  /// that could not be done.
  func sync() throws(StoreError) -> UInt64 {
    try syncing.locked { () throws(StoreError) in
      let (unsynced, last) = try tail.locked { () throws(StoreError) in
        if !log.hasUncounted { try check() }
        return (log.takeUnsynced(), appended)
      }
      guard let unsynced else { return last }
      do throws(StoreError) { try unsynced.file.sync() } catch { throw lost(error) }
      log.accept(unsynced)
      tail.locked {
        counted = max(counted, last)
        log.noteDurable(unsynced)
      }
      return last
    }
  }

  /// Drops what does not count after a failed sync; the error to throw, which says whether it is known to be gone.
  private func lost(_ error: StoreError) -> StoreError {
    var error = error
    tail.locked {
      failure = error
      log.lose()
    }
    do throws(StoreError) { try log.repair() } catch {}
    error.isOutcomeUnknown = log.isBroken
    tail.locked { failure = error }
    return error
  }

  /// The number of the last commit that counts.
  var lastCommitted: UInt64 { tail.locked { counted } }

  /// Waits until everything counts that was appended.
  private func settle() throws(StoreError) {
    if tail.locked({ log.hasUncounted }) { _ = try sync() }
  }

  /// Leaves what the log holds to the drain.
  func seal() throws(StoreError) {
    try exclusively { () throws(StoreError) in
      try settle()
      try rotate()
    }
  }

  /// Rids the log of what failed; throws why that could not be done.
  func repair() throws(StoreError) {
    try exclusively { () throws(StoreError) in
      try syncing.locked { () throws(StoreError) in
        try tail.locked { () throws(StoreError) in if isClosed { throw DatabaseAccess.closed(path) } }
        do throws(StoreError) { try log.repair() } catch {
          tail.locked { failure = failure ?? error }
          throw error
        }
        tail.locked {
          counted = appended
          failure = nil
        }
      }
    }
  }

  /// Whether a failure has not been repaired.
  var hasFailed: Bool { tail.locked { failure != nil } }

  /// Whether nothing more can be written; `body` runs the first time that this is said.
  func close(_ body: () -> Void) {
    tail.locked {
      if !isClosed { body() }
      isClosed = true
    }
  }

  /// Whether it has been closed.
  var hasEnded: Bool { tail.locked { isClosed } }

  private func makeRoom(for payload: Int) throws(StoreError) {
    guard !tail.locked({ log.hasRoom(for: payload) }) else { return }
    try settle()
    try rotate(for: payload)
  }

  private func rotate(for payload: Int = 0) throws(StoreError) {
    try syncing.locked { () throws(StoreError) in
      try tail.locked { () throws(StoreError) in try check() }
      do throws(StoreError) { try log.rotate(for: payload) } catch {
        tail.locked { failure = error }
        throw error
      }
    }
  }

  private func check() throws(StoreError) {
    if let failure {
      var error = StoreError(
        .poisoned, "the store at \(path) takes no commit until it is reopened, since an earlier one failed",
        underlying: failure.description)
      error.isOutcomeUnknown = failure.isOutcomeUnknown  // who asks may have lost a commit by the sync of somebody else
      throw error
    }
    if isClosed { throw DatabaseAccess.closed(path) }
  }
}
