internal import CUV
internal import Glibc
internal import RuledThreads
internal import Synchronization

/// The thread of a node's links: the listener and all links of the node run on one libuv loop.
///
/// Links and tunnels stay apart from the loops of the workers, which they cost nothing: they meet at sockets.
package final class PeerLoop: Sendable {
  private let inbox: LoopInbox
  private let thread: Thread

  /// Starts the thread, which `top -H` shows as `ruled-peers`.
  ///
  /// - Throws: `.system` when the system lets the process have no further thread or descriptor.
  package init() throws(PeerError) {
    let inbox = try LoopInbox()
    self.inbox = inbox
    do throws(ThreadError) {
      thread = try Thread(name: "ruled-peers") {
        Self.blockBrokenPipes()
        LoopState(inbox).run()
      }
    } catch {
      throw .system("pthread_create", number: error.number)
    }
  }

  /// Lets a write to a socket that nobody reads fail, instead of ending the process: libuv does not ask the system for that.
  private static func blockBrokenPipes() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Closes the listener, the links and the tunnels of this loop, and waits for the thread's end.
  ///
  /// To be called once, and not from a closure that the loop calls.
  package func stop() {
    inbox.post { $0.stop() }
    thread.join()
  }

  /// Runs `body` on the loop's thread, after what was posted before; false, and not at all, once the loop has stopped.
  @discardableResult
  func post(_ body: @escaping @Sendable (LoopState) -> Void) -> Bool { inbox.post(body) }

  /// Runs `body` on the loop's thread and waits for its result; nil once the loop has stopped.
  func call<Result: Sendable>(_ body: @escaping @Sendable (LoopState) -> Result) -> Result? {
    let result = OneResult<Result>()
    let isAccepted = inbox.post { result.give(body($0)) }
    return isAccepted ? result.wait() : nil
  }
}

/// A result that one thread gives and another waits for.
final class OneResult<Value: Sendable>: Sendable {
  private let condition = Condition()
  private let value: Mutex<Value?> = Mutex(nil)

  func give(_ new: Value) { condition.signal { value.withLock { $0 = new } } }

  func wait() -> Value { condition.wait { value.withLock { $0 } } }
}

/// What other threads have posted to a loop.
final class LoopInbox: Sendable {
  /// An event counter of the kernel that is readable when something was posted.
  let counter: Int32
  private let state = Mutex(State())

  private struct State {
    var queue: [@Sendable (LoopState) -> Void] = []
    var isClosed = false
  }

  init() throws(PeerError) {
    counter = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    guard counter >= 0 else { throw .system("eventfd", number: errno) }
  }

  deinit { Glibc.close(counter) }

  /// Posts a closure; false when the inbox is closed.
  @discardableResult
  func post(_ body: @escaping @Sendable (LoopState) -> Void) -> Bool {
    let (isAccepted, wakes) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      state.queue.append(body)
      return (true, state.queue.count == 1)
    }
    var one: UInt64 = 1
    while wakes, write(counter, &one, MemoryLayout<UInt64>.size) < 0, errno == EINTR {}
    return isAccepted
  }

  /// Takes what was posted, in its order.
  func take() -> [@Sendable (LoopState) -> Void] {
    var count: UInt64 = 0
    while read(counter, &count, MemoryLayout<UInt64>.size) < 0, errno == EINTR {}
    return state.withLock { state in
      var taken: [@Sendable (LoopState) -> Void] = []
      swap(&taken, &state.queue)
      return taken
    }
  }

  /// Refuses whatever is posted from now on, and takes what was posted before.
  func close() -> [@Sendable (LoopState) -> Void] {
    state.withLock { $0.isClosed = true }
    return take()
  }
}
