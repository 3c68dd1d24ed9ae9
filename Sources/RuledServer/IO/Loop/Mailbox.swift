internal import Synchronization

/// A queue from any thread to one loop, handed over in batches and in the order sent.
///
/// A message costs the sender one uncontended lock, and a wake-up only when the queue was empty. What is sent before the loop
/// attaches waits; what is sent after `close` is dropped, and the sender is told.
package final class Mailbox<Message: Sendable>: Sendable {
  private struct State {
    var queue: [Message] = []
    var wake: LoopWake?
    var isClosed = false
    /// Whether somebody looks into the queue next, so that nobody need be woken for it.
    var isAttended = false
  }

  private let state = Mutex(State())

  /// An empty mailbox that no loop has attached to.
  package init() {}

  /// Adds a message; false when the mailbox is closed.
  @discardableResult
  package func send(_ message: Message) -> Bool { add { $0.append(message) } }

  /// Adds messages under one lock; false when the mailbox is closed.
  @discardableResult
  package func send(contentsOf messages: [Message]) -> Bool {
    messages.isEmpty || add { $0.append(contentsOf: messages) }
  }

  private func add(_ append: (inout [Message]) -> Void) -> Bool {
    var wake: LoopWake?
    let isAccepted = state.withLock { state in
      guard !state.isClosed else { return false }
      if state.queue.isEmpty, !state.isAttended { wake = state.wake }
      append(&state.queue)
      return true
    }
    wake?.wake()
    return isAccepted
  }

  /// Has `receive` called on `loop` with all messages that have gathered; at most once in a mailbox's life.
  package func attach(to loop: EventLoop, _ receive: @escaping ([Message]) -> Void) throws(SystemError) {
    var spare: [Message] = []
    let wake = try LoopWake(on: loop) { [self] in
      var batch: [Message] = []
      swap(&batch, &spare)
      state.withLock { swap(&$0.queue, &batch) }
      if !batch.isEmpty { receive(batch) }
      batch.removeAll(keepingCapacity: batch.capacity <= 4096)
      swap(&batch, &spare)
    }
    let hasWaiting = state.withLock { state in
      precondition(state.wake == nil, "a mailbox has one loop")
      state.wake = wake
      return !state.queue.isEmpty
    }
    if hasWaiting { wake.wake() }
  }

  /// What has gathered since the last batch, for the loop's thread to take along within one.
  package func takeQueued() -> [Message] {
    var batch: [Message] = []
    state.withLock { swap(&$0.queue, &batch) }
    return batch
  }

  /// Whether nothing is queued.
  package var isEmpty: Bool { state.withLock { $0.queue.isEmpty } }

  /// Runs `body` on the loop's thread, and gives what has gathered since the last batch and meanwhile: nothing of that wakes the loop.
  func attended(_ body: () -> Void) -> [Message] {
    state.withLock { $0.isAttended = true }
    body()
    state.withLock { $0.isAttended = false }
    return takeQueued()
  }

  /// Drops what is queued and refuses what comes; on the loop's thread when one has attached.
  package func close() {
    let wake = state.withLock { state in
      state.isClosed = true
      state.queue = []
      return state.wake
    }
    wake?.close()
  }
}
