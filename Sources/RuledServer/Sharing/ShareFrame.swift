import RuledCore
import RuledEngine

/// What the owner of the log and a node that evaluates for it send each other over the node's share connection, in both directions in order.
///
/// The node that evaluates connects and sends `join`. The owner answers `accept`, or `farewell`. From then on it may grant partitions.
enum ShareFrame {
  // MARK: From the node that evaluates

  /// The first frame: who the node is, and which rules it would evaluate with.
  case join(ShareJoin)
  /// Submissions, in order; the owner answers with `committed` for the whole round.
  case submit(round: UInt64, [SharedSubmission])
  /// Replies to `requests`, by their numbers; a notification has an empty one.
  case replies([(number: UInt64, reply: ByteView)])
  /// Events of the node's own clients about subjects that are evaluated elsewhere; the owner answers with `clientReplies`.
  case clientRequests([SharedRequest])
  /// A timer can't fire; its `ended` comes too.
  case timerFailed(DueTimer, RequestError)
  /// The node has finished what it had of the partitions of the `release` with that number; `sequence` is the last number that it gave.
  case released(move: UInt64, sequence: UInt64)
  /// Asks for `pong`. `time` is the node's own monotonic clock in nanoseconds, `played` how far it has played the log back.
  case ping(time: UInt64, played: Int64)
  /// What was counted since the last such frame; it leaves before the replies and submissions that follow from what was counted.
  case counted(ShareCounts)
  /// The reply to the request with that number is too large to be sent.
  case unsendable(number: UInt64)
  /// What is wrong with what the node evaluates, whenever that changes.
  case health(ShareHealth)
  /// The node wants to take no more part: the owner takes its partitions back, and then ends the connection.
  case leave

  // MARK: From the owner

  /// The node may take part, on these terms.
  case accept(ShareTerms)
  /// The node evaluates for these partitions, once it has played the log back up to `after`; its numbers begin above `sequence`.
  case grant(PartitionSet, after: Int64, sequence: UInt64)
  /// The node must finish what it has of these partitions, and answer `released`.
  case release(move: UInt64, PartitionSet)
  /// Requests of clients about the node's subjects.
  case requests([SharedRequest])
  /// Replies to `clientRequests`, by their numbers; a notification has an empty one.
  case clientReplies([(number: UInt64, reply: ByteView)])
  /// Messages for the node's subjects, which are in the log up to `after`.
  case messages(after: Int64, [SharedMessage])
  /// A timer is due; the node answers `ended` with that number.
  case fire(number: UInt64, DueTimer)
  /// The result of a round of submissions; if it is durable, all of it is in the log up to `after`.
  case committed(round: UInt64, CommitResult, after: Int64)
  /// The answer to `ping`, with the ping's time: until `validity` nanoseconds after it the node may answer reads.
  ///
  /// `now` is the owner's time, in microseconds since 1970, which rules see on all nodes.
  case pong(time: UInt64, validity: UInt64, now: Int64)
  /// The plugin is suspended on the owner (true), or runs again (false; sent only while the node has no partitions).
  case suspended(plugin: String, isSuspended: Bool)
  /// Clients whose requests follow may have seen the log up to here: play it back that far before reading.
  case position(Int64)
  /// What is wrong with the owner and the nodes that evaluate for it, a sentence each, whenever that changes.
  case problems([String])
  /// Where the owner's manual clock stands, in microseconds since 1970; sent only while the node has no partitions.
  case clock(Int64)

  // MARK: From both

  /// The cascade of a message or a timer that came with that number has ended.
  case ended(number: UInt64, isWhole: Bool)
  /// The last frame: why its sender ends the connection.
  case farewell(String)
}

/// What a node says of itself when it joins.
struct ShareJoin: Equatable {
  /// The format of the frames that it writes; another one is refused.
  static let format: UInt8 = 5

  /// The node's name.
  let node: String
  /// The id of its process.
  let incarnation: String
  /// The revision of the rules that it loaded.
  let revision: String
}

/// On what terms a node evaluates.
struct ShareTerms: Equatable {
  /// Where the manual clock stands, in microseconds since 1970; nil if the owner's clock runs.
  let manualClock: Int64?
  /// The owner's time, in microseconds since 1970.
  let now: Int64
  /// The owner's steady time, in microseconds (`EngineClock.steady`).
  let steady: Int64
  /// Whether commits have records for the journal.
  let journals: Bool
}

/// What a node has counted for the owner.
struct ShareCounts: Equatable {
  /// The events that its workers got from clients.
  var events: UInt64 = 0
  /// The queries among their requests.
  var queries: UInt64 = 0
  /// The events that repeated an earlier one.
  var duplicates: UInt64 = 0
  /// The messages that were parked because they could not be read.
  var damaged: UInt64 = 0
  /// The requests that were answered with an error.
  var errors: [RequestError.Code: UInt64] = [:]
  /// The plugins that ran.
  var plugins: [PluginTally] = []

  /// Whether nothing was counted.
  var isEmpty: Bool {
    events == 0 && queries == 0 && duplicates == 0 && damaged == 0 && errors.isEmpty && plugins.isEmpty
  }
}

/// What is wrong with what a node evaluates.
struct ShareHealth: Equatable {
  /// The number of subjects whose messages can't be applied for now.
  var heldSubjects: UInt64 = 0
  /// What is wrong, a sentence each.
  var problems: [String] = []
  /// The entries of its store that can't be read, each as `health` lists it.
  var unreadable: [String] = []
}

/// What a node has counted of a plugin.
struct PluginTally: Equatable {
  /// The plugin's name.
  let name: String
  /// How many events it handled.
  var runs: UInt64 = 0
  /// How many of them it failed on.
  var failures: [PluginRuntime.Cause: UInt64] = [:]
  /// How many of the last events in a row it was stopped on.
  var lastStops: UInt64 = 0
  /// Whether it was suspended on the node.
  var isSuspended = false
}

/// A request of a client, on its way to the node that evaluates for its subject, or to the owner.
struct SharedRequest {
  /// The sender's number for it.
  let number: UInt64
  /// Whether the client is an administrator.
  let isAdmin: Bool
  /// Whether it is one of a batch, so that its reply is no line.
  let isInBatch: Bool
  /// Its text.
  let text: ByteView
}

/// A message on its way to the node that evaluates for its subject; what it says is in the log.
struct SharedMessage: Equatable {
  let subject: [UInt8]
  let sequence: UInt64
  /// The plugin that sent it.
  let plugin: String
  /// The sender's number for its cascade, if somebody waits for that; 0 otherwise.
  let cascade: UInt64
}

/// What one worker of a node wants to be committed, with what has to follow from it.
struct SharedSubmission {
  /// What is written, what is counted, and what leaves.
  ///
  /// Its messages have no cascades here, its `delivered` and `awaited` are empty.
  let batch: CommitBatch
  /// The numbers of the cascades of its messages, one for each; 0 where nobody waits.
  let cascades: [UInt64]
  /// How many requests that the owner has passed on are answered once it is durable.
  var replies = 0
  /// Those of their replies that come with it: the owner sends them once it is durable, while the node still plays the commit back.
  var enclosed = ReplyBundle()
}
