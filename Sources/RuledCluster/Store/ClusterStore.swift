import RuledCore
import RuledStore
import RuledThreads

/// The store of a node that owns the log of commits: commits go to the database, then to the node's own store, which serves all reads.
///
/// Commits appended while a batch commits become the next batch: one row, one wait for the standbys. After an error, either nothing of the
/// batch was committed, or the ownership ends and with it this store: a new one plays back the log.
final class ClusterStore: StateStore, @unchecked Sendable {  // `lock` and `committing` guard what changes
  /// The size in bytes from which on a batch takes no further commit until it is sent.
  private static let mostBytes = 32 << 20

  private let played: PlayedStore
  private let leaseProblem: @Sendable () -> StoreError?
  private let onLoss: @Sendable (StoreError) -> Void

  /// Held by the one thread that writes to the database; taken before `lock`.
  ///
  /// It guards `writer`, `sent` and `isBehind`.
  private let committing = Condition()
  private let writer: LogWriter
  private var sent = LogBatch()
  /// Whether the node's own store lacks batches of the database.
  private var isBehind = false

  /// Guards the rest; never held during I/O.
  private let lock = Condition()
  private var current = StoreState.open
  /// The appended commits that are not sent yet.
  private var next = LogBatch()
  private var lastAppended: UInt64 = 0
  private var lastCommitted: UInt64 = 0

  /// `PlayedStore.owned` makes it, and says what the arguments are.
  init(
    _ played: PlayedStore, writer: LogWriter, problem: @escaping @Sendable () -> StoreError? = { nil },
    onLoss: @escaping @Sendable (StoreError) -> Void
  ) {
    precondition(writer.end == played.position, "the log is played back to its end before its owner serves")
    self.played = played
    self.writer = writer
    leaseProblem = problem
    self.onLoss = onLoss
  }

  var name: String { "postgresql" }

  var disk: StoreDisk? { played.store.disk }

  // MARK: Reading

  func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    try played.store.get(key, into: buffer)
  }

  func withCursor(
    below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    try played.store.withCursor(below: upper, body)
  }

  // MARK: Committing

  var state: StoreState { lock.locked { current } }

  var committedSequence: UInt64 { lock.locked { lastCommitted } }

  /// Commits `set` in the database, and waits for the standbys even if `durable` is false.
  func commit(_ set: WriteSet, durable: Bool) throws(StoreError) {
    let number = set.isEmpty ? 0 : try append(set)
    do throws(StoreError) { try syncCommits() } catch {
      // Another thread's sync may have committed it before the failure.
      guard number > 0, committedSequence >= number else { throw error }
    }
  }

  func appendCommit(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64? {
    precondition(!isCommitted, "a cluster commits in its database alone")
    return try lock.locked { () throws(StoreError) in
      try check()
      guard next.isEmpty || next.byteCount + set.byteCount <= Self.mostBytes else { return nil }
      next.append(set)
      lastAppended += 1
      return lastAppended
    }
  }

  func makeRoom(for byteCount: Int) throws(StoreError) { try syncCommits() }

  @discardableResult
  func syncCommits() throws(StoreError) -> UInt64 {
    try committing.locked { () throws(StoreError) in
      let number = try lock.locked { () throws(StoreError) in
        try check()
        swap(&next, &sent)
        return lastAppended
      }
      guard !sent.isEmpty else { return number }
      do throws(StoreError) { try write(sent) } catch {
        sent.removeAll()
        lock.locked {
          current = .failed(error)
          next.removeAll()
        }
        if writer.end == nil || isBehind { onLoss(error) }
        throw error
      }
      sent.removeAll()
      lock.locked { lastCommitted = number }
      return number
    }
  }

  /// Commits a batch in the database and then here; under `committing`.
  private func write(_ batch: LogBatch) throws(StoreError) {
    try writer.append(batch)
    guard let end = writer.end else { preconditionFailure("an owner that has appended knows the end of its log") }
    do throws(StoreError) { try played.apply(batch, to: end) } catch {
      isBehind = true
      throw LogWriter.unknown(error)  // the database has the batch: the next owner plays it back
    }
  }

  /// Throws if nothing may be appended; called under `lock`.
  private func check() throws(StoreError) {
    switch current {
    case .open, .sealing: return
    case .closed: throw StoreError(.closed, "the store of the cluster's node has been closed")
    case .failed(let failure), .suspended(let failure):
      throw .poisoned(by: failure, "this node takes no commit since an earlier one failed")
    }
  }

  /// Accepts commits again if the node still owns the log and has all of it.
  func reopen() throws(StoreError) {
    try committing.locked { () throws(StoreError) in
      guard let failure = state.failure else { return }
      guard writer.end != nil, !isBehind else { throw failure }
      lock.locked { current = .open }
    }
  }

  // MARK: Background

  var problem: StoreError? { played.store.problem ?? leaseProblem() }

  func checkpoint(to path: String) throws(StoreError) { try played.store.checkpoint(to: path) }

  func expire(before cutoff: Int64) { played.store.expire(before: cutoff) }

  /// Commits all appends, and closes the node's own store.
  func close() throws(StoreError) {
    var problem: StoreError?
    if case .open = state {
      do throws(StoreError) { try syncCommits() } catch { problem = error }
    }
    lock.locked { current = .closed }
    try played.store.close()
    if let problem { throw problem }
  }
}
