import RuledCore
import RuledEngine
import RuledWire

/// Committing, and what leaves once a commit is durable.
extension Worker {
  /// Commits what was written and sends what leaves for other workers.
  func flush() {
    while commitBatch() {}
    forwardMessages()
    replies.forwardBundles()
  }

  /// Commits the evaluator's batch; false if it is empty.
  private func commitBatch() -> Bool {
    let batch = evaluator.batch
    guard !batch.isEmpty || !batch.replies.isEmpty || !batch.awaited.isEmpty else { return false }
    updateFigures()
    let isFirst = !evaluator.hasInFlight
    let taken = evaluator.takeBatch()
    guard isFirst, isWorthSyncing(taken) else {
      services.report(services.commits.append(taken, of: index, inFlight: services.inFlight.load(ordering: .relaxed)))
      return true
    }
    let (result, error) = services.commits.commit(taken, of: index)
    services.report(error)
    if result == .durable { shareReplies(of: taken) }
    complete(taken, result)
    if result == .durable { recycle(taken) }
    return true
  }

  /// Whether this worker waits for the disk itself, as nothing else is left to do: all requests in flight wait for the batch.
  private func isWorthSyncing(_ batch: CommitBatch) -> Bool {
    !services.commits.isDurable || batch.replies.count >= services.inFlight.load(ordering: .relaxed)
  }

  /// Does what waited for a batch of this worker: all of it leaves if the batch is durable, or is refused with all later batches if it is lost.
  func complete(_ batch: CommitBatch, _ result: CommitResult) {
    guard evaluator.isInFlight(batch) else { return }  // it was lost together with an earlier one
    if result != .durable { services.commits.resume(index) }
    for batch in evaluator.finished(batch, durable: result == .durable) {
      switch result {
      case .durable:
        sendReplies(of: batch)
        send(batch.messages)
        inbox.applied(batch.delivered)
        for cascade in batch.awaited { cascade.ended() }
        if let due = batch.earliestTimer { _ = services.control.send(.timerSet(due)) }
        services.outbox.recorded(batch.effects)
      case .lost, .unknown:
        refuseReplies(of: batch, result)
        for message in batch.messages { message.cascade?.ended() }
        for cascade in batch.awaited { cascade.lost() }
        inbox.rolledBack(batch.delivered)
      }
    }
  }

  // MARK: Replies

  /// Sends the replies of this worker's batch, but for those that other workers send to their connections themselves.
  private func sendReplies(of batch: CommitBatch) {
    for reply in batch.replies {
      let bytes = UnsafeRawBufferPointer(rebasing: batch.replyBytes.bytes[reply.range])
      if let cascade = reply.cascade {
        awaitingCascade[cascade.key] = (reply.target, Array(bytes))
        cascade.cascade.ended()
      } else if reply.target.worker == index || reply.target.worker == HTTPServer.worker {
        replies.send(bytes, to: reply.target)
      }
    }
  }

  /// Sends the replies of another worker's batch to this worker's connections.
  func sendReplies(ofForeign batch: CommitBatch) {
    for reply in batch.replies where reply.target.worker == index && reply.cascade == nil {
      replies.send(UnsafeRawBufferPointer(rebasing: batch.replyBytes.bytes[reply.range]), to: reply.target)
    }
  }

  /// Passes a durable batch to the other workers that send some of its replies.
  private func shareReplies(of batch: CommitBatch) {
    let receivers = services.workers.indices.filter { $0 != index && batch.senders.contains($0) }
    batch.share(among: receivers.count + 1)
    for worker in receivers {
      services.workers[worker].send(.durable([CommittedBatch(worker: index, batch: batch)]))
    }
  }

  /// Leaves a batch to be used again, unless other workers still send its replies.
  func recycle(_ batch: CommitBatch) {
    if batch.letGo() { evaluator.giveBack(batch) }
  }

  /// Replies that nothing was applied, or that it is not known whether it was.
  private func refuseReplies(of batch: CommitBatch, _ result: CommitResult) {
    let error =
      result == .unknown
      ? RequestError(
        .outcomeUnknown,
        "the disk failed while the commit was on its way: it may have been applied or not; send it again with the same id, which applies it once"
      )
      : RequestError(.unavailable, "the store refused the commit: nothing was applied, send it again")
    for reply in batch.replies {
      if reply.id.isEmpty {
        replies.sendNothing(to: reply.target)
      } else {
        let id = UnsafeRawBufferPointer(rebasing: batch.replyBytes.bytes[reply.id])
        replies.sendError(error, id: id, to: reply.target)
      }
    }
  }

  /// Sends a durable reply that waited for the cascade of its event, which has ended, or can't be waited for any longer.
  func sendReply(awaitingCascade key: UInt64, isWhole: Bool) {
    guard let reply = awaitingCascade.removeValue(forKey: key) else { return }
    let end = (reply.bytes.lastIndex(of: UInt8(ascii: "}")) ?? 0) - 1
    guard !isWhole, end > 0, reply.bytes[end] == UInt8(ascii: "}") else {
      return reply.bytes.withUnsafeBytes { replies.send($0, to: reply.target) }
    }
    // Adds the member to the result, which is the reply's last member.
    let buffer = replies.buffer
    buffer.removeAll()
    reply.bytes[..<end].withUnsafeBytes { buffer.append($0) }
    buffer.append(",\"cascade\":\"pending\"" as StaticString)
    reply.bytes[end...].withUnsafeBytes { buffer.append($0) }
    replies.send(buffer.bytes, to: reply.target)
  }

  // MARK: Messages

  /// Passes committed messages to the workers that own their subjects.
  private func send(_ messages: [CommitBatch.Message]) {
    guard !messages.isEmpty else { return }
    var own: [CommitBatch.Message] = []
    for message in messages {
      let owner = services.owner(of: message.subject)
      if owner == index { own.append(message) } else { outgoing[owner].append(message) }
    }
    inbox.add(own)
  }

  private func forwardMessages() {
    for worker in outgoing.indices where !outgoing[worker].isEmpty {
      services.workers[worker].send(.messages(outgoing[worker]))
      outgoing[worker] = []
    }
  }
}
