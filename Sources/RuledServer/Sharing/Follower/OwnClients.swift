import RuledCore
import RuledEngine
import Synchronization

/// Between the thread with the clients of a node that follows and the part of the engine that evaluates for the owner of the log: requests
/// about the node's own subjects need not go by the owner, and events about others go to it over the share.
final class OwnClients: Sendable {
  /// What the thread with the clients gets.
  enum Event: Sendable {
    /// Requests about these partitions may go to the workers of `services`; `send` takes events about others, for the owner.
    case arrived(PartitionSet, Services, send: @Sendable (RequestBundle) -> Void)
    /// No more requests about these partitions; to be called once the last of them are on their way to the workers.
    case leaving(PartitionSet, @Sendable () -> Void)
    /// Replies have gathered.
    case replies
    /// The part of the engine has ended.
    case ended(String)
  }

  /// Where the thread with the clients gets its events.
  let events = Mailbox<Event>()
  private let gathered = Mutex(ReplyBundle())

  /// No clients yet.
  init() {}

  // MARK: The part of the engine

  /// Lets requests about partitions come, which the workers of `services` evaluate from now on; `send` takes events about others.
  ///
  /// No request is given to `send` any more once all partitions have left.
  func arrive(
    _ partitions: PartitionSet, _ services: Services, send: @escaping @Sendable (RequestBundle) -> Void
  ) {
    events.send(.arrived(partitions, services, send: send))
  }

  /// Lets no more requests about partitions come, and then calls `done`, on any thread.
  func leave(_ partitions: PartitionSet, _ done: @escaping @Sendable () -> Void) {
    if !events.send(.leaving(partitions, done)) { done() }
  }

  /// Ends all; no reply comes any more.
  func end(_ reason: String) { events.send(.ended(reason)) }

  /// Sends those of the replies that are for clients of this node; from any thread.
  func reply(_ replies: ReplyBundle) {
    let isFirst = gathered.withLock { gathered in
      let count = gathered.count
      replies.forEach { bytes, target in
        if target.receiver == .standby { gathered.append(bytes, to: target) }
      }
      return count == 0 && gathered.count > 0
    }
    if isFirst { events.send(.replies) }
  }

  // MARK: The thread with the clients

  /// Moves the replies to `other`, which is made empty first.
  func take(into other: inout ReplyBundle) {
    other.removeAll()
    gathered.withLock { swap(&$0, &other) }
  }
}
