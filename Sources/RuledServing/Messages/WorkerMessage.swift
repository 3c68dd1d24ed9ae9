import RuledCore
import RuledEngine
import RuledIO

enum WorkerMessage: Sendable {
  /// Execute requests, in their order.
  case requests(TextBundle)
  /// Send these replies to your connections.
  case replies(TextBundle)
  /// These submissions are durable, in this order: some are yours, and some have replies for your connections.
  case durable([DurableSubmission])
  /// A submission of yours is lost, or it is not known whether it is.
  case lost(Submission, CommitResult)
  case messages([CommitBatch.Message])
  /// Commits have brought publications of these numbers, and the messages that their publishers sent before are in the mailboxes.
  case published([UInt64])
  /// The cascade that a reply waits for has ended, or can't be waited for any longer.
  case cascadeEnded(UInt64, isWhole: Bool)
  case evaluate(@Sendable (Evaluator) -> Void)
  /// Call the handler of a site: in its turn, as visitors send as many requests as they like.
  case callHandler(@Sendable (Evaluator) -> Void)
  /// Fire a timer of one of your subjects; the cascade ends once that is durable.
  case fire(DueTimer, Cascade)
  /// Apply the messages of an earlier process from the store: their number by plugin.
  case resumeMessages([(sender: MessageSender, count: Int)])
  /// Try each parked event whose plugin has changed since again, once, as soon as all of them are stored.
  case retryParked
  /// Try those parked before that sequence again: all of them are stored now. Then that deferral ends.
  case retryStored(before: UInt64, deferral: Int)
  /// Leave the messages of these plugins in the store, whose parked messages are about to be made again.
  case deferMessages(of: Set<String>)
  /// End the deferral of that number, unless there is a later one.
  case endDeferral(Int)
  /// Take over an accepted connection, which has a permit; with a client, another node has carried it here.
  case adopt(Int32, with: ConnectionPermit, for: ClientAccess?)
  /// Close a connection, whose permit another one got.
  case evict(ConnectionToken)
  case lookForEnd(of: ConnectionToken, then: @Sendable () -> Void)
  case readChanges
  /// Run a closure, which shows that you are awake.
  case wake(@Sendable () -> Void)
  /// Answer all complete lines, close the connections, and then call a closure.
  case drain(then: @Sendable () -> Void)
  case stop
}

/// A durable submission, which does not change any more.
struct DurableSubmission: Sendable {
  let worker: Int
  let submission: Submission
}
