internal import CUV
internal import Glibc
internal import RuledThreads
internal import Synchronization

/// The thread of a node's links: the listener and all links of the node run on one libuv loop.
///
/// It is apart from the loops of the workers, and meets them only at sockets. So links and tunnels cost workers nothing.
package final class PeerLoop: Sendable {
  private let inbox: LoopInbox
  private let thread: Thread

  /// Starts the thread `ruled-peers`.
  ///
  /// - Throws: `.system` if the process can have no more threads or descriptors.
  package init() throws(PeerError) {
    inbox = try LoopInbox()
    nonisolated(unsafe) let state = try LoopState(inbox)  // from here on the new thread's alone, if there is one
    do throws(ThreadError) {
      thread = try Thread(name: "ruled-peers") {
        Self.blockBrokenPipes()
        state.run()
      }
    } catch {
      inbox.post { $0.stop() }
      state.run()
      throw .system("pthread_create", number: error.number)
    }
  }

  /// Makes a write to a closed socket fail instead of ending the process, which libuv does not do.
  private static func blockBrokenPipes() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Closes the listener, the links and the tunnels of this loop, and waits for the thread's end.
  ///
  /// - Precondition: It was not called before, and is not called on the loop's thread.
  package func stop() {
    inbox.post { $0.stop() }
    thread.join()
  }

  /// Runs `body` on the loop's thread, after what was posted before; returns false, without running it, once the loop has stopped.
  @discardableResult
  func post(_ body: @escaping @Sendable (LoopState) -> Void) -> Bool { inbox.post(body) }

  /// Runs `body` on the loop's thread and waits for its result; nil once the loop has stopped.
  func call<Result: Sendable>(_ body: @escaping @Sendable (LoopState) -> Result) -> Result? {
    let result = OneResult<Result>()
    let isAccepted = inbox.post { result.give(body($0)) }
    return isAccepted ? result.wait() : nil
  }
}

/// A result that one thread sets and another waits for.
final class OneResult<Value: Sendable>: Sendable {
  private let condition = Condition()
  private let value: Mutex<Value?> = Mutex(nil)

  func give(_ new: Value) { condition.signal { value.withLock { $0 = new } } }

  func wait() -> Value { condition.wait { value.withLock { $0 } } }
}

/// The closures that other threads have posted to a loop.
final class LoopInbox: Sendable {
  /// An eventfd that is readable when something was posted.
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

  /// Refuses all further closures, and takes those that were posted before.
  func close() -> [@Sendable (LoopState) -> Void] {
    state.withLock { $0.isClosed = true }
    return take()
  }
}
