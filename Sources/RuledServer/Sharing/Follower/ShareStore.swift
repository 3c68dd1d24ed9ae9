import RuledCore
import RuledEngine
import RuledStore
import RuledThreads

/// The store of a node that evaluates for the owner of the log: reads go to what the node has played back, submissions go to the owner in rounds.
///
/// Submissions collect while a round is under way, so that one round makes many of them durable. A round is complete once it is in the log
/// and played back here: then readers see it. What the owner has to do once it is durable travels with the submissions, but for the
/// cascades of messages for subjects that are evaluated elsewhere. These stay here under numbers until the owner says that they have ended.
///
/// The node commits nothing by itself: sets of writes without a submission are refused.
final class ShareStore: StateStore, @unchecked Sendable {  // `lock` guards what changes
  /// How far the node has played the log back.
  struct Playback: Sendable {
    /// Where the node has what it played back.
    let store: any StateStore
    /// The number of batches of the log that it has played back.
    let position: @Sendable () -> Int64
    /// Calls a closure once, on any thread, when so many batches are played back.
    let whenPlayed: @Sendable (Int64, @escaping @Sendable () -> Void) -> Void
    /// Waits until so many batches are played back, for a second at most.
    let awaitPlayed: @Sendable (Int64) -> Void
    /// Has a closure called with each commit that is played back, on any thread; with none if it is nil.
    let observe: @Sendable ((@Sendable (WriteSet) -> Void)?) -> Void
  }

  /// What is sent to the owner as one.
  private struct Round {
    var submissions: [SharedSubmission] = []
    /// About how many bytes they have.
    var bytes = 0
    /// The numbers of the cascades of their messages.
    var cascades: [UInt64] = []
  }

  /// From how many bytes on a round takes no further submission until it is sent.
  private static let mostBytes = 8 << 20

  let playback: Playback
  private let shares: Shares
  private let send: @Sendable (_ round: UInt64, [SharedSubmission]) -> Void
  /// Up to how many bytes the replies of a submission leave with it.
  private let mostReplyBytes: Int

  /// Held by the one thread that has a round under way; taken before `lock`.
  private let committing = Condition()
  /// Guards the rest; never held while something is awaited.
  private let lock = Condition()
  private var current = StoreState.open
  /// Why the store fails for good; nil while it does not.
  private var end: StoreError?
  private var next = Round()
  private var lastRound: UInt64 = 0
  private var isUnderWay = false
  /// The result of the round that is under way; nil before it is known, and played back.
  private var result: CommitResult?
  private var lastAppended: UInt64 = 0
  private var lastCommitted: UInt64 = 0
  /// The cascades of messages that others apply, by number.
  private var cascades: [UInt64: Cascade] = [:]
  private var lastCascade: UInt64 = 0

  /// A store over what is played back, for the subjects that `shares` has here; `send` passes a round on to the owner, and must not block.
  init(
    _ playback: Playback, shares: Shares, mostReplyBytes: Int = mostBytes,
    send: @escaping @Sendable (_ round: UInt64, [SharedSubmission]) -> Void
  ) {
    self.mostReplyBytes = min(mostReplyBytes, Self.mostBytes)
    self.playback = playback
    self.shares = shares
    self.send = send
  }

  var name: String { playback.store.name }

  var approximateBytes: Int { playback.store.approximateBytes }

  var disk: StoreDisk? { playback.store.disk }

  // MARK: Reading

  func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    try playback.store.get(key, into: buffer)
  }

  func withCursor(
    below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    try playback.store.withCursor(below: upper, body)
  }

  // MARK: Submitting

  var state: StoreState { lock.locked { current } }

  var committedSequence: UInt64 { lock.locked { lastCommitted } }

  /// Adds a submission to the next round; returns its number, or nil if the round has no room for it: call `makeRoom` then.
  ///
  /// Takes the cascades of messages that others apply out of the submission's batch.
  func append(_ submission: Submission) throws(StoreError) -> UInt64? {
    let batch = submission.batch
    return try lock.locked { () throws(StoreError) in
      try check()
      let bytes = batch.writes.byteCount + batch.changes.bytes.count
      guard bytes <= ShareFrame.mostItemBytes else {
        throw StoreError(.refused, "a commit of \(bytes) bytes is more than a node can send to the owner of the log")
      }
      guard next.submissions.isEmpty || next.bytes + bytes <= Self.mostBytes else { return nil }
      next.bytes += bytes
      let replies = submission.replies.count { $0.target.receiver == .owner }
      var shared = SharedSubmission(batch: batch, cascades: takeCascades(of: batch), replies: replies)
      if replies > 0, submission.replyBytes.count <= mostReplyBytes {
        shared.enclosed = submission.encloseReplies()
        next.bytes += submission.replyBytes.count
      }
      next.submissions.append(shared)
      lastAppended += 1
      return lastAppended
    }
  }

  /// Takes the cascades of messages that others apply, under `lock`; returns a number for each message, 0 where nobody waits.
  private func takeCascades(of batch: CommitBatch) -> [UInt64] {
    var numbers = [UInt64](repeating: 0, count: batch.messages.count)
    for (index, message) in batch.messages.enumerated() {
      guard let cascade = message.cascade, shares[Partition(of: message.subject)] != nil else { continue }
      lastCascade += 1
      numbers[index] = lastCascade
      cascades[lastCascade] = cascade
      next.cascades.append(lastCascade)
      batch.messages[index] = CommitBatch.Message(
        subject: message.subject, sequence: message.sequence, sender: message.sender)
    }
    return numbers
  }

  func makeRoom(for byteCount: Int) throws(StoreError) { try sync() }

  /// Has the owner commit what was appended, as one round, and waits until this node has played it back.
  @discardableResult
  func sync() throws(StoreError) -> UInt64 {
    try committing.locked { () throws(StoreError) in
      var round = Round()
      let (number, last) = try lock.locked { () throws(StoreError) in
        try check()
        swap(&round, &next)
        guard !round.submissions.isEmpty else { return (UInt64(0), lastAppended) }
        lastRound += 1
        isUnderWay = true
        result = nil
        return (lastRound, lastAppended)
      }
      guard number > 0 else { return last }
      send(number, round.submissions)
      do throws(StoreError) { try awaitResult() } catch {
        discard(round, error)
        throw error
      }
      lock.locked {
        isUnderWay = false
        lastCommitted = last
      }
      return last
    }
  }

  /// Waits until the round under way is durable and played back.
  private func awaitResult() throws(StoreError) {
    switch lock.wait(for: { result ?? end.map { _ in .unknown } }) {
    case .durable: break
    case .lost: throw StoreError(.refused, "the owner of the log of commits could not commit")
    case .unknown: throw Self.unknown("the owner of the log of commits has not told the result of the commit")
    }
  }

  private static func unknown(_ message: String) -> StoreError {
    var error = StoreError(.poisoned, message)
    error.isOutcomeUnknown = true
    return error
  }

  /// Fails with all that was appended: it builds on the round that is not committed.
  private func discard(_ round: Round, _ error: StoreError) {
    let dropped = lock.locked {
      isUnderWay = false
      if current.failure == nil { current = .failed(error) }
      defer { next = Round() }
      return (round.cascades + next.cascades).compactMap { cascades.removeValue(forKey: $0) }
    }
    for cascade in dropped { cascade.leave() }
  }

  /// Throws if nothing may be appended; called under `lock`.
  private func check() throws(StoreError) {
    guard let failure = current.failure else { return }
    throw .poisoned(by: failure, "this node takes no commit since an earlier one failed")
  }

  func reopen() throws(StoreError) {
    try committing.locked { () throws(StoreError) in
      try lock.locked { () throws(StoreError) in
        if let end { throw end }
        current = .open
      }
    }
  }

  // MARK: The owner's answers

  /// Takes the owner's answer to a round; if that is durable, all of it is in the log up to `after`.
  func answer(_ round: UInt64, _ result: CommitResult, after: Int64) {
    guard result == .durable else { return complete(round, result) }
    playback.whenPlayed(after) { [self] in complete(round, .durable) }
  }

  private func complete(_ round: UInt64, _ result: CommitResult) {
    lock.signal {
      if isUnderWay, round == lastRound, self.result == nil { self.result = result }
    }
  }

  /// Ends a cascade that the owner has ended.
  func endCascade(_ number: UInt64, isWhole: Bool) {
    lock.locked { cascades.removeValue(forKey: number) }?.leave(isCommitted: isWhole)
  }

  /// Fails for good, as the share has ended; what is under way has an unknown result.
  func fail(_ reason: String) {
    let waiting = lock.locked {
      guard end == nil else { return [Cascade]() }
      var error = StoreError(
        .poisoned, "this node does not evaluate for the owner of the log of commits any more: \(reason)")
      error.isOutcomeUnknown = isUnderWay
      end = error
      current = .failed(error)
      defer { cascades = [:] }
      return Array(cascades.values)
    }
    lock.wakeAll()
    for cascade in waiting { cascade.leave(isCommitted: false) }
  }

  // MARK: What only the owner does

  private static let refused = StoreError(.unsupported, "only the owner of the log commits, for all nodes")

  func commit(_ set: WriteSet, durable: Bool) throws(StoreError) { throw Self.refused }

  func append(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64? { throw Self.refused }

  func checkpoint(to path: String) throws(StoreError) { throw Self.refused }

  var problem: StoreError? { nil }

  /// Drops nothing: a node's own store keeps what its log has until the node owns that.
  func expire(before cutoff: Int64) {}

  func close() { fail("its store is closed") }
}
