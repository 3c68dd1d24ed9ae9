import RuledCore
import RuledEngine

/// What the node wants to be committed.
extension RemoteEvaluator {
  /// Whether each submission has its result.
  var isSettled: Bool { rounds.isEmpty }

  /// Submits what the node wants to be committed.
  func submit(_ submissions: [SharedSubmission], round: UInt64) {
    guard !submissions.isEmpty else {
      return channel.send(.committed(round: round, .durable, after: position))
    }
    rounds.append(Round(number: round, left: submissions.count))
    let mailbox = services.receivers[receiver]
    for shared in submissions {
      for (index, number) in shared.cascades.enumerated() where number != 0 {
        let message = shared.batch.messages[index]
        shared.batch.messages[index] = CommitBatch.Message(
          subject: message.subject, sequence: message.sequence,
          cascade: Cascade { isWhole in _ = mailbox.send(.cascadeEnded(number, isWhole: isWhole)) },
          sender: message.sender)
      }
      services.context.counters.reserve(foreign: shared.batch)
      let inFlight = services.inFlight.load(ordering: .relaxed)
      let submission = Submission(
        shared.batch, repliesElsewhere: shared.replies, enclosedReplies: shared.enclosed)
      services.report(services.commits.submit(submission, of: receiver, inFlight: inFlight))
    }
  }

  /// Does what follows from a durable batch of the node, as a worker does for its own.
  func complete(_ submission: Submission) {
    let batch = submission.batch
    services.elsewhere?.noteCommit(of: submission, at: EngineClock.monotonic)
    services.context.parkedCounts.add(batch.parked)
    if batch.waitingTimers != 0 {
      services.context.waitingTimers.wrappingAdd(batch.waitingTimers, ordering: .relaxed)
    }
    reply(submission.enclosedReplies)
    var outgoing: [Int: [CommitBatch.Message]] = [:]
    for message in batch.messages {
      let owner = services.owner(of: message.subject)
      guard owner == receiver else {
        outgoing[owner, default: []].append(message)
        continue
      }
      // The node itself applies those for its own subjects. One whose subject has just come there is found in the store.
      message.cascade?.leave(isCommitted: false)
    }
    for (owner, messages) in outgoing { services.receivers[owner].send(.messages(messages)) }
    if let due = batch.earliestTimer { _ = services.control.send(.timerSet(due)) }
    services.outbox.add(batch.effects)
    if batch.removesEffects { services.outbox.recount() }
    noteResult { $0.durable += 1 }
  }

  /// Sends the replies that came with a submission, which is durable now.
  private func reply(_ enclosed: ReplyBundle) {
    var replies: [(number: UInt64, reply: ByteView)] = []
    enclosed.forEach { replies.append(($1.connection, $0)) }
    reply(replies)
  }

  /// Notes the result of the next submission, and answers its round if that was the last one of it.
  func noteResult(_ note: (inout Round) -> Void) {
    guard !rounds.isEmpty else { return }
    note(&rounds[0])
    rounds[0].left -= 1
    guard rounds[0].left == 0 else { return }
    let round = rounds.removeFirst()
    if round.failure != nil { services.commits.resume(receiver) }
    // If a part is durable and the rest is lost, the node can't say of a request that nothing of it was applied.
    let failure = round.failure.map { round.durable > 0 ? CommitResult.unknown : $0 }
    channel.send(.committed(round: round.number, failure ?? .durable, after: position))
  }
}
