import RuledCore
import RuledEngine
import Synchronization

/// What the workers of a node that evaluates for the owner of the log have for it: replies, in the order in which they leave.
///
/// It also knows how long the node may answer reads.
final class OwnerReplies: OwnersEvaluation {
  private struct State {
    var gathered = ReplyBundle()
    var wake: LoopWake?
    var isOver = false
  }

  private let state = Mutex(State())
  /// Until when reads are answered, in nanoseconds of the monotonic clock.
  private let readsEnd = Atomic<UInt64>(0)

  /// How many batches of the log the owner had when it sent its last request.
  private let known = Atomic<Int64>(0)

  /// The clients of this node; nil if none comes here directly.
  private let clients: OwnClients?

  /// No replies, and no reads.
  init(_ clients: OwnClients? = nil) { self.clients = clients }

  // MARK: Workers

  func reply(_ replies: ReplyBundle, recyclingTo pool: BundlePool?) {
    clients?.reply(replies)
    let wake: LoopWake? = state.withLock { state in
      guard !state.isOver else { return nil }
      let isFirst = state.gathered.count == 0
      replies.forEach(recyclingTo: pool) { bytes, target in
        if target.receiver != .standby { state.gathered.append(bytes, to: target) }
      }
      return isFirst && state.gathered.count > 0 ? state.wake : nil
    }
    wake?.wake()
  }

  func checkRead() throws(RequestError) {
    guard MonotonicClock.nanoseconds >= readsEnd.load(ordering: .relaxed) else { return }
    throw RequestError(
      .unavailable,
      "the owner of the log of commits has not confirmed lately that this node evaluates for it; try again",
      details: [.init("retry_after_ms", 500)])
  }

  /// Clients whose requests came by the owner may have seen the log up to here: play it back that far before reading.
  var ownerPosition: Int64 { known.load(ordering: .acquiring) }

  // MARK: The session

  /// Notes that the owner had so many batches of the log when it sent what comes next.
  func note(ownerPosition position: Int64) { known.store(position, ordering: .releasing) }

  /// Calls `body` on `loop` when there are replies.
  func attach(to loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) {
    let wake = try LoopWake(on: loop, body)
    state.withLock { $0.wake = wake }
  }

  /// Lets reads be answered until then, in nanoseconds of the monotonic clock.
  func allowReads(until time: UInt64) { readsEnd.store(time, ordering: .relaxed) }

  /// Moves the replies to `other`, which is made empty first.
  func take(into other: inout ReplyBundle) {
    other.removeAll()
    state.withLock { swap(&$0.gathered, &other) }
  }

  /// Drops the replies and those that come, and answers no read any more; on the loop's thread.
  func end() {
    readsEnd.store(0, ordering: .relaxed)
    let wake = state.withLock { state in
      state.isOver = true
      state.gathered = ReplyBundle()
      return state.wake
    }
    wake?.close()
  }
}
