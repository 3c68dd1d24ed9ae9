import RuledCore
import RuledEngine
import RuledJSON

/// Committing, and sending the replies, messages and effects that wait for a durable commit.
extension Worker {
  /// Commits the tick's batch and sends the bundles for other workers.
  func commitTick() {
    updateFigures()
    while submitBatch() {}
    if !submission.starts.isEmpty {
      services.figures[index].noteAnswers(to: submission.starts, at: EngineClock.monotonic)
      submission.removeStarts()
    }
    forwardMessages()
    replies.forwardReplies()
  }

  /// A tick submits early once its batch has this many bytes.
  private static let fullBytes = 4 << 20

  /// Submits the batch early if it is large, so that no commit grows with the number of requests that come at once.
  func submitIfFull() {
    guard evaluator.batchBytes >= Self.fullBytes else { return }
    let inFlight = services.inFlight.load(ordering: .relaxed)
    services.report(commits.leaveToCommitter(takeSubmission(), of: index, inFlight: inFlight))
  }

  /// Submits the tick's batch to the commit pipeline; false if it is empty.
  private func submitBatch() -> Bool {
    guard !submission.isEmpty else { return false }
    let isFirst = submitted.isEmpty
    let full = takeSubmission()
    guard isFirst, isLastInFlight(full) else {
      services.report(commits.leaveToCommitter(full, of: index, inFlight: services.inFlight.load(ordering: .relaxed)))
      return true
    }
    let (result, error) = commits.makeDurable(full, of: index)
    services.report(error)
    if result == .durable { sendToReaders(full) }
    completeSubmission(full, result)
    if result == .durable { endUse(of: full) }
    return true
  }

  /// Returns the submission, which is in flight from now on, and begins another one.
  private func takeSubmission() -> Submission {
    let full = submission
    _ = evaluator.takeBatch()
    submitted.append(full)
    let next = evaluator.batch
    if let spare = spareSubmissions.popLast(), spare.reuse(for: next) {
      submission = spare
    } else {
      submission = Submission(next)
    }
    return full
  }

  /// Whether this worker waits for the disk itself, as nothing else is left to do: all requests in flight wait for this commit.
  ///
  /// It does not wait for a database, which may take seconds: other requests want their answers meanwhile.
  private func isLastInFlight(_ submission: Submission) -> Bool {
    !commits.isDurable
      || services.membership == nil && submission.replies.count >= services.inFlight.load(ordering: .relaxed)
  }

  /// Completes a submission of this worker: sends the waiting replies, messages and effects, or refuses it with all later ones, which build on it.
  func completeSubmission(_ done: Submission, _ result: CommitResult) {
    guard submitted.contains(where: { $0 === done }) else { return }  // it was refused together with an earlier one
    switch result {
    case .durable:
      submitted.removeFirst()
      services.figures[index].noteCommit(of: done, at: EngineClock.monotonic)
      evaluator.noteDurable(done.batch)
      let batch = done.batch
      // before the replies, so that a client that has one finds its event counted
      services.context.parkedCounts.add(batch.parked)
      if batch.waitingTimers != 0 {
        services.context.waitingTimers.wrappingAdd(batch.waitingTimers, ordering: .relaxed)
      }
      sendReplies(of: done)
      passOn(batch.messages)
      published += batch.publicationNumbers
      inbox.removeApplied(batch.delivered)
      for cascade in batch.awaited { cascade.leave() }
      if let due = batch.earliestTimer { _ = services.control.send(.timerSet(due)) }
      services.outbox.add(batch.effects)
      if batch.removesEffects { services.outbox.mailbox.send(.recount) }
    case .lost, .unknown:
      let refused = submitted + [submission]
      submitted.removeAll()
      commits.resume(index)
      evaluator.discardAll(from: done.batch)
      submission = Submission(evaluator.batch)
      for submission in refused {
        if !submission.isEmpty { services.figures[index].noteLostCommit() }
        refuseReplies(of: submission, result)
        let batch = submission.batch
        for message in batch.messages { message.cascade?.leave() }
        for change in batch.topics { change.publication?.cascade?.leave() }
        // A commit of unknown outcome may have brought them nevertheless.
        published += batch.publicationNumbers
        batch.dropNumbers(in: services.context)
        for cascade in batch.awaited { cascade.leave(isCommitted: false) }
        inbox.restore(batch.delivered)
      }
    }
  }

  /// Sends the replies of this worker's submission, except those that other workers send to their connections themselves.
  private func sendReplies(of durable: Submission) {
    for reply in durable.replies {
      if let cascade = reply.cascade {
        let waiting = (reply.target, Array(durable.bytes(of: reply)))
        if !awaitingCascade.add(waiting, for: cascade.key) { sendAwaited(waiting, isWhole: false) }
        cascade.cascade.leave()
      } else {
        switch reply.target.receiver {
        case .worker(index), .http: replies.dispatch(durable.bytes(of: reply), to: reply.target)
        case .worker: break
        }
      }
    }
  }

  /// Sends the replies of another worker's submission to this worker's connections.
  func sendForeignReplies(of durable: Submission) {
    for reply in durable.replies where reply.target.receiver == .worker(index) && reply.cascade == nil {
      replies.dispatch(durable.bytes(of: reply), to: reply.target)
    }
  }

  /// Passes a durable submission to the other workers whose connections wait for some of its replies.
  private func sendToReaders(_ durable: Submission) {
    let receivers = services.workers.indices.filter { $0 != index && durable.recipients.contains($0) }
    durable.setReaders(receivers.count + 1)
    for worker in receivers {
      services.workers[worker].send(.durable([DurableSubmission(worker: index, submission: durable)]))
    }
  }

  /// Ends this worker's use of a durable submission, which is then recycled unless other workers still use it.
  func endUse(of durable: Submission) {
    guard durable.removeReader() else { return }
    evaluator.recycle(durable.batch)
    if spareSubmissions.count < Self.spareLimit { spareSubmissions.append(durable) }
  }

  /// The most submissions kept for reuse.
  private static let spareLimit = 8

  /// Replies that nothing was applied, or that it is not known whether it was.
  private func refuseReplies(of lost: Submission, _ result: CommitResult) {
    let cause = services.membership == nil ? "the disk failed" : "the database did not answer"
    let unknown = RequestError(
      .outcomeUnknown,
      "\(cause) while the commit was on its way: it may have been applied or not; send it again with the same id, which applies it once"
    )
    let refused = RequestError(.unavailable, "the store refused the commit: nothing was applied, send it again")
    let unread = RequestError(.unavailable, "a commit that this would have shown was not confirmed: ask again")
    for reply in lost.replies {
      let error = reply.isRead ? unread : result == .unknown ? unknown : refused
      if reply.id.isEmpty {
        replies.sendNothing(to: reply.target)
      } else {
        replies.sendError(error, id: lost.id(of: reply), to: reply.target)
      }
    }
  }

  /// Sends a durable reply that waited for the cascade of its event, which has ended, or can't be waited for any longer.
  func sendReply(awaitingCascade key: UInt64, isWhole: Bool) {
    if let reply = awaitingCascade.remove(key) { sendAwaited(reply, isWhole: isWhole) }
  }

  private func sendAwaited(_ reply: AwaitedReplies.Reply, isWhole: Bool) {
    let end = (reply.bytes.lastIndex(of: UInt8(ascii: "}")) ?? 0) - 1
    guard !isWhole, end > 0, reply.bytes[end] == UInt8(ascii: "}") else {
      return reply.bytes.withView { replies.dispatch($0, to: reply.target) }
    }
    // Adds the member to the result, which is the reply's last member.
    let buffer = replies.buffer
    buffer.removeAll()
    reply.bytes.withView { buffer.append($0.extracting(..<end)) }
    var json = JSONWriter(continuing: buffer)
    json.member("cascade", plain: "pending")
    reply.bytes.withView { buffer.append($0.extracting(end...)) }
    replies.dispatch(buffer.bytes, to: reply.target)
  }

  /// Passes committed messages to the workers that own their subjects.
  private func passOn(_ messages: [CommitBatch.Message]) {
    guard !messages.isEmpty else { return }
    var own: [CommitBatch.Message] = []
    for message in messages {
      let owner = services.worker(for: message.subject)
      if owner == index { own.append(message) } else { outgoing[owner].append(message) }
    }
    inbox.add(own)
  }

  private func forwardMessages() {
    for worker in outgoing.indices where !outgoing[worker].isEmpty {
      services.workers[worker].send(.messages(outgoing[worker]))
      outgoing[worker] = []
    }
    guard !published.isEmpty else { return }
    services.workers[Self.publisher].send(.published(published))
    published = []
  }
}

/// One worker's durable replies that wait for the cascades of their events.
struct AwaitedReplies {
  typealias Reply = (target: ReplyTarget, bytes: [UInt8])

  /// The bytes of all connections together, as a multiple of one connection's.
  private static let connections = 64

  private var replies: [UInt64: Reply] = [:]
  private var bytes: [ReplyTarget.Client: Int] = [:]
  private var total = 0

  var isEmpty: Bool { replies.isEmpty }
  var keys: [UInt64] { Array(replies.keys) }

  /// Adds the reply that waits for the cascade with that key; false if it must not wait, because its connection, or all together, have too much.
  mutating func add(_ reply: Reply, for key: UInt64) -> Bool {
    let client = reply.target.client
    let waiting = (bytes[client] ?? 0) + reply.bytes.count
    guard waiting <= Limits.cascadeBytes, total + reply.bytes.count <= Self.connections * Limits.cascadeBytes else {
      return false
    }
    replies[key] = reply
    bytes[client] = waiting
    total += reply.bytes.count
    return true
  }

  mutating func remove(_ key: UInt64) -> Reply? {
    guard let reply = replies.removeValue(forKey: key) else { return nil }
    let client = reply.target.client
    let left = (bytes[client] ?? 0) - reply.bytes.count
    bytes[client] = left > 0 ? left : nil
    total -= reply.bytes.count
    return reply
  }
}
