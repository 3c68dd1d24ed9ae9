internal import CUV
internal import Glibc
public import Synchronization

/// A queue from any thread to one loop, in the order sent; the loop takes all messages that have gathered at once.
///
/// A message costs the sender one uncontended lock, and a wake-up only when the queue was empty. Messages sent before the loop attaches
/// wait; messages sent after `close` are dropped, and `send` returns false.
///
/// The compiler specialises it for the messages of other modules because it is public (docs/decisions/27).
public final class Mailbox<Message: Sendable>: Sendable {
  @usableFromInline struct State {
    @usableFromInline var queue: [Message] = []
    @usableFromInline var wake: LoopWake?
    @usableFromInline var isClosed = false
    /// Whether the loop's thread is within `collect`, so that no sender needs to wake it.
    @usableFromInline var isCollecting = false
  }

  @usableFromInline let state = Mutex(State())

  package init() {}

  /// Adds a message; false when the mailbox is closed.
  @inlinable @discardableResult
  package func send(_ message: Message) -> Bool {
    var wake: LoopWake?
    let isAccepted = state.withLock { state in
      guard !state.isClosed else { return false }
      if state.queue.isEmpty, !state.isCollecting { wake = state.wake }
      state.queue.append(message)
      return true
    }
    wake?.wake()
    return isAccepted
  }

  /// Calls `receive` on `loop` with all messages that have gathered.
  ///
  /// A mailbox attaches once.
  @inlinable
  package func attach(to loop: EventLoop, _ receive: @escaping ([Message]) -> Void) throws(SystemError) {
    var spare: [Message] = []
    let wake = try LoopWake(on: loop) { [self] in
      var messages: [Message] = []
      swap(&messages, &spare)
      state.withLock { swap(&$0.queue, &messages) }
      if !messages.isEmpty { receive(messages) }
      messages.removeAll(keepingCapacity: messages.capacity <= 4096)
      swap(&messages, &spare)
    }
    let hasWaiting = state.withLock { state in
      precondition(state.wake == nil, "a mailbox has one loop")
      state.wake = wake
      return !state.queue.isEmpty
    }
    if hasWaiting { wake.wake() }
  }

  @inlinable package var count: Int { state.withLock { $0.queue.count } }

  @inlinable package var isEmpty: Bool { state.withLock { $0.queue.isEmpty } }

  /// Runs `body` on the loop's thread, and returns the messages from before and meanwhile.
  ///
  /// Messages that come meanwhile do not wake the loop.
  @inlinable
  package func collect(during body: () -> Void) -> [Message] {
    state.withLock { $0.isCollecting = true }
    body()
    return state.withLock { state in
      state.isCollecting = false
      var messages: [Message] = []
      swap(&state.queue, &messages)
      return messages
    }
  }

  /// Refuses further messages, and returns the queued ones; on the loop's thread when one has attached.
  @discardableResult
  package func close() -> [Message] {
    let (left, wake) = state.withLock { state in
      state.isClosed = true
      defer { state.queue = [] }
      return (state.queue, state.wake)
    }
    wake?.close()
    return left
  }
}

/// Lets any thread make a loop call a closure; several wakes before it runs are one.
///
/// It uses an event counter of the kernel instead of libuv's own wake-up. With that one, the woken thread spins until the waking thread has left
/// its system call, which takes long if the two share a processor.
@usableFromInline package final class LoopWake: Sendable {
  private let counter: OwnedDescriptor
  private nonisolated(unsafe) var poll: DescriptorPoll?  // only the loop's thread uses it

  @usableFromInline
  init(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) {
    let number = try SystemCalls.check("eventfd", "wake-up") {
      eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    }
    counter = OwnedDescriptor(owning: number)
    let poll = try DescriptorPoll(on: loop, number) { _ in
      var count: UInt64 = 0
      _ = SystemCalls.retrying { read(number, &count, MemoryLayout<UInt64>.size) }
      body()
    }
    poll.wait(for: .readable)
    self.poll = poll
  }

  /// Makes the loop call the closure soon; from any thread, and without effect once closed.
  @usableFromInline
  func wake() {
    var one: UInt64 = 1
    _ = SystemCalls.retrying { write(counter.number, &one, MemoryLayout<UInt64>.size) }
  }

  /// Ends the wake: its closure is not called again.
  ///
  /// To be called on the loop's thread.
  func close() {
    poll?.close()
    poll = nil
  }
}
