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
  /// These submissions are durable, in this order: some are yours, and some hold replies for your connections.
  case durable([DurableSubmission])
  /// A submission of yours has failed, in that way.
  case lost(Submission, CommitResult)
  /// Apply messages to your subjects.
  case deliver([CommitBatch.Message])
  /// What a reply has been waiting for is over, or can't be waited for any longer.
  case cascadeOver(UInt64, isWhole: Bool)
  /// Do something on your thread.
  case perform(@Sendable (Worker) -> Void)
}

/// A submission that is durable; nobody changes it any more.
struct DurableSubmission: Sendable {
  /// Whose it is.
  let worker: Int
  /// The submission.
  let submission: Submission
}
