import RuledCore
import RuledEngine

/// What a worker is asked by the other threads.
enum WorkerMessage: Sendable {
  /// Carry out a request for one of your subjects.
  case request(ForwardedRequest)
  /// Carry out requests for your subjects that my connections sent.
  case requests(RequestBundle)
  /// Hand these replies to your connections.
  case replies(ReplyBundle)
  /// A unit is durable, or has failed.
  case finished(CommitUnit, durable: Bool)
  /// Apply messages to your subjects.
  case deliver([CommitUnit.Message])
  /// What a reply has been waiting for is over.
  case cascadeOver(UInt64)
  /// Do something on your thread.
  case perform(@Sendable (Worker) -> Void)
}

/// What the committer is asked by the other threads.
enum CommitterMessage: Sendable {
  /// Commit this.
  case commit(Submission)
  /// Open the store anew, as a commit has failed.
  case reopen
  /// End, once what came before is committed.
  case stop
}

/// A unit on its way to the committer.
struct Submission: Sendable {
  /// The worker that it comes from.
  let worker: Int
  /// The unit.
  let unit: CommitUnit
}
