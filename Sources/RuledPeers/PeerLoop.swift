internal import RuledIO
internal import RuledThreads
internal import Synchronization

/// The thread of a node's links: the listener and all links of the node run on one loop.
///
/// It is apart from the loops of the workers, and meets them only at sockets. So links and tunnels cost workers nothing.
package final class PeerLoop: Sendable {
  private let inbox = LoopState.Inbox()
  private let thread: Thread

  /// Starts the thread `ruled-peers`.
  ///
  /// - Throws: `.system` if the process can have no more threads or descriptors.
  package init() throws(PeerError) {
    let started = OneResult<Result<Void, SystemError>>()
    do throws(SystemError) {
      thread = try Thread.start(name: "ruled-peers") { [inbox] in
        do throws(SystemError) {
          let state = try LoopState(inbox)
          started.give(.success(()))
          state.run()
        } catch { started.give(.failure(error)) }
      }
      try started.wait().get()
    } catch { throw .system(error) }
  }

  /// Closes the listener, the links and the tunnels of this loop, and waits for the thread's end.
  ///
  /// - Precondition: It was not called before, and is not called on the loop's thread.
  package func stop() {
    inbox.send { $0.stop() }
    thread.join()
  }

  /// Runs `body` on the loop's thread, after earlier posts; returns false, without running it, once the loop has stopped.
  @discardableResult
  func post(_ body: @escaping @Sendable (LoopState) -> Void) -> Bool { inbox.send(body) }
}

/// A result that one thread sets and another waits for.
final class OneResult<Value: Sendable>: Sendable {
  private let condition = Condition()
  private let value: Mutex<Value?> = Mutex(nil)

  func give(_ new: Value) { condition.signal { value.withLock { $0 = new } } }

  func wait() -> Value { condition.wait { value.withLock { $0 } } }
}

/// Something on the loop that has timeouts.
protocol Watched: AnyObject {
  /// Checks the timeouts; called ten times a second, with the loop's time in milliseconds.
  func check(now: UInt64)
  func shutDown()
}

/// The part of a `PeerLoop` that is confined to its thread.
///
/// At the end of a tick, before the loop waits for input, each connection with output is flushed once.
final class LoopState {
  typealias Inbox = Mailbox<@Sendable (LoopState) -> Void>

  /// How often timeouts are checked, in milliseconds.
  static let interval: UInt64 = 100

  let events: EventLoop
  private let inbox: Inbox
  private var watched: [ObjectIdentifier: any Watched] = [:]
  private var unflushed: [PeerConnection] = []
  private var isStopping = false

  /// A state on a loop of the calling thread, which executes the closures sent to `inbox`.
  init(_ inbox: Inbox) throws(SystemError) {
    self.inbox = inbox
    events = try EventLoop()
    try inbox.attach(to: events) { [unowned self] bodies in for body in bodies { body(self) } }
    try events.timer(after: Self.interval, every: Self.interval) { [unowned self] in
      for one in watched.values { one.check(now: now) }
    }
    events.atTickEnd(.output) { [unowned self] in endTick() }
  }

  /// Runs until `stop`.
  func run() {
    events.run()
    events.close()
  }

  /// Ends everything on the loop, and then the loop, at the end of the tick.
  func stop() { isStopping = true }

  /// The loop's time in milliseconds from an arbitrary start.
  var now: UInt64 { events.now }

  /// Checks the timeouts of `one` until `unwatch`.
  func watch(_ one: any Watched) { watched[ObjectIdentifier(one)] = one }

  func unwatch(_ one: any Watched) { watched[ObjectIdentifier(one)] = nil }

  /// Flushes a connection at the end of the tick.
  func flushLater(_ connection: PeerConnection) { unflushed.append(connection) }

  private func endTick() {
    if isStopping {
      isStopping = false
      for body in inbox.close() { body(self) }
      for one in watched.values { one.shutDown() }
      watched = [:]
      events.stop()
    }
    while !unflushed.isEmpty {
      let connections = unflushed
      unflushed = []
      for connection in connections { connection.flush() }
    }
  }
}
