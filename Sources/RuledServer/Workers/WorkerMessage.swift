import RuledCore
import RuledEngine

/// What a worker is asked by the other threads.
enum WorkerMessage: Sendable {
  /// Carry out a request for one of your subjects.
  case request(ForwardedRequest)
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

/// A request that another worker read.
struct ForwardedRequest: Sendable {
  /// The request, one JSON-RPC object.
  let text: [UInt8]
  /// Where the reply goes.
  let target: ReplyTarget
}

/// Replies for the connections of one worker.
struct ReplyBundle: Sendable {
  /// One reply.
  struct Entry: Sendable {
    let target: ReplyTarget
    let range: Range<Int>
  }

  /// All bytes.
  var bytes: [UInt8] = []
  /// Which of them are whose.
  var entries: [Entry] = []
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
