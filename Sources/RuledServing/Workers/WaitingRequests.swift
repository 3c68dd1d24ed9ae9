import RuledCore
import RuledIO

/// The requests of one worker that wait for their clients' turns, as a tick has time for some requests only.
///
/// Once a client has requests here, its later ones join them, so that they keep their order.
final class WaitingRequests {
  /// The requests of one client.
  final class Queue {
    let client: ReplyTarget.Client
    fileprivate let owner: UInt32
    private(set) var bundle = TextBundle()
    /// The number of the bundle's requests that are executed.
    var executed = 0
    /// Whether the last text is a line that the router has not read.
    fileprivate(set) var endsWithLine = false
    /// The large replies since the client's last requests came, as a client that sends more has read the earlier ones.
    var largeReplies = LargeReplies()

    fileprivate init(_ target: ReplyTarget) { (client, owner) = (target.client, target.owner) }

    /// The number of texts that are requests of this worker.
    var count: Int { bundle.texts.count - (endsWithLine ? 1 : 0) }

    /// Drops the executed requests once they are half of the bundle, as the queue of a client that goes on sending is never empty.
    fileprivate func dropExecuted() {
      guard executed * 2 >= bundle.texts.count else { return }
      let rest = TextBundle()
      for text in bundle.texts[executed...] { rest.add(bundle.bytes(of: text), to: text.target, subject: text.subject) }
      (bundle, executed) = (rest, 0)
    }
  }

  private var queues: [ReplyTarget.Client: Queue] = [:]
  private var turns = TurnOrder<ReplyTarget.Client>()

  var isEmpty: Bool { queues.isEmpty }

  func contains(_ client: ReplyTarget.Client) -> Bool { !queues.isEmpty && queues[client] != nil }

  /// Adds a request, or a line that the router has not read, of a bundle that had these large replies so far.
  ///
  /// Returns whether it is the client's first one here.
  func add(
    _ text: ByteView, to target: ReplyTarget, subject: UInt64, isLine: Bool, after largeReplies: LargeReplies
  ) -> Bool {
    let known = queues[target.client]
    let queue = known ?? Queue(target)
    if known == nil { append(queue) }
    queue.bundle.add(text, to: target, subject: subject)
    queue.endsWithLine = isLine
    queue.largeReplies = largeReplies
    return known == nil
  }

  /// Removes the client whose turn it is; it comes back with `putBack` or another request.
  func removeNext() -> Queue? { turns.removeNext().flatMap { queues.removeValue(forKey: $0) } }

  /// Returns a client with requests left, for its next turn.
  func putBack(_ queue: Queue) {
    queue.dropExecuted()
    append(queue)
  }

  private func append(_ queue: Queue) {
    queues[queue.client] = queue
    turns.append(queue.client, of: queue.owner)
  }
}
