internal import CUV
internal import Glibc

/// What every libuv handle of this program has in common: its memory, its loop and its end.
///
/// An open handle keeps its owner alive. After `close`, libuv calls back once it is done with the memory, and the owner is released.
package class LoopHandle {
  /// The loop that runs the handle.
  package let loop: EventLoop
  package private(set) var isClosed = false
  private let memory: UnsafeMutableRawPointer

  /// Allocates a handle and lets `start` initialise it on the loop.
  init<Handle>(
    _ type: Handle.Type, on loop: EventLoop, call: String, context: String,
    _ start: (UnsafeMutablePointer<uv_loop_t>, UnsafeMutablePointer<Handle>) -> Int32
  ) throws(SystemError) {
    loop.assertOnLoop()
    let handle = UnsafeMutablePointer<Handle>.allocate(capacity: 1)
    let status = start(loop.raw, handle)
    guard status == 0 else {
      handle.deallocate()
      throw SystemError(uv: status, call: call, context: context)
    }
    self.loop = loop
    memory = UnsafeMutableRawPointer(handle)
    uv_handle_set_data(raw, Unmanaged.passRetained(self).toOpaque())
  }

  /// The handle as libuv's base type.
  var raw: UnsafeMutablePointer<uv_handle_t> { memory.assumingMemoryBound(to: uv_handle_t.self) }

  /// The handle as the type that it was made with.
  func pointer<Handle>(_ type: Handle.Type) -> UnsafeMutablePointer<Handle> {
    memory.assumingMemoryBound(to: type)
  }

  /// Ends the handle: its closure is not called again.
  ///
  /// Closing twice is harmless.
  package func close() {
    loop.assertOnLoop()
    guard !isClosed else { return }
    isClosed = true
    didClose()
    uv_close(raw, loopHandleClosed)
  }

  /// Drops closures, so that no reference cycle outlives the handle.
  func didClose() {}

  /// The owner of a handle that libuv calls back for.
  static func owner(of data: UnsafeMutableRawPointer?) -> Self? {
    guard let data else { return nil }
    return Unmanaged<Self>.fromOpaque(data).takeUnretainedValue()
  }
}

private func loopHandleClosed(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
  guard let handle, let data = handle.pointee.data else { return }
  Unmanaged<LoopHandle>.fromOpaque(data).release()
  UnsafeMutableRawPointer(handle).deallocate()
}

// MARK: Timers

/// A timer of an event loop.
package final class LoopTimer: LoopHandle {
  private var body: (() -> Void)?
  private let closesAfterFiring: Bool

  /// A timer that does not run yet.
  ///
  /// With `closesAfterFiring`, it closes itself when it fires.
  package init(on loop: EventLoop, closesAfterFiring: Bool = false, _ body: @escaping () -> Void) throws(SystemError) {
    self.body = body
    self.closesAfterFiring = closesAfterFiring
    try super.init(uv_timer_t.self, on: loop, call: "uv_timer_init", context: "timer") { uv_timer_init($0, $1) }
  }

  /// Starts or restarts: fires after `delay` milliseconds, then every `period` milliseconds unless that is 0.
  package func start(after delay: UInt64, every period: UInt64 = 0) {
    loop.assertOnLoop()
    precondition(!isClosed, "a closed timer is not started")
    uv_update_time(loop.raw)
    uv_timer_start(pointer(uv_timer_t.self), loopTimerFired, delay, period)
  }

  /// Stops; it can be started again.
  package func stop() {
    loop.assertOnLoop()
    if !isClosed { uv_timer_stop(pointer(uv_timer_t.self)) }
  }

  override func didClose() { body = nil }

  fileprivate func fire() {
    loop.beginTick()
    let body = body
    if closesAfterFiring { close() }
    body?()
  }
}

private func loopTimerFired(_ handle: UnsafeMutablePointer<uv_timer_t>?) {
  LoopTimer.owner(of: handle?.pointee.data)?.fire()
}

// MARK: Descriptors

/// Reports when a descriptor can be read or written.
///
/// The descriptor remains its owner's.
package final class DescriptorPoll: LoopHandle {
  /// What to wait for, and what came.
  package struct Events: OptionSet {
    /// The bits as libuv numbers them; `failed` is none of libuv's.
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// There is something to read, or the peer has ended.
    package static let readable = Events(rawValue: 1)
    /// There is room to write.
    package static let writable = Events(rawValue: 2)
    /// An error is pending on the descriptor; polling has stopped.
    package static let failed = Events(rawValue: 1 << 16)
  }

  private var body: ((Events) -> Void)?
  private var interest: Events = []

  /// A poll that waits for nothing yet; the descriptor is made non-blocking.
  package init(on loop: EventLoop, _ descriptor: Int32, _ body: @escaping (Events) -> Void) throws(SystemError) {
    self.body = body
    try super.init(uv_poll_t.self, on: loop, call: "uv_poll_init", context: "descriptor \(descriptor)") {
      uv_poll_init($0, $1, descriptor)
    }
  }

  /// Waits for exactly these events from now on.
  package func wait(for events: Events) {
    loop.assertOnLoop()
    guard events != interest, !isClosed else { return }
    interest = events
    let handle = pointer(uv_poll_t.self)
    if events.isEmpty {
      uv_poll_stop(handle)
    } else {
      let status = uv_poll_start(handle, events.rawValue, descriptorPolled)
      precondition(status == 0, "polling an open descriptor failed")
    }
  }

  override func didClose() { body = nil }

  fileprivate func report(_ status: Int32, _ events: Int32) {
    loop.beginTick()
    if status < 0 {
      interest = []
      body?(.failed)
    } else {
      body?(Events(rawValue: events))
    }
  }
}

private func descriptorPolled(_ handle: UnsafeMutablePointer<uv_poll_t>?, _ status: Int32, _ events: Int32) {
  DescriptorPoll.owner(of: handle?.pointee.data)?.report(status, events)
}

// MARK: Signals

/// Turns signals of the process into calls on a loop.
package final class SignalWatcher {
  /// The signals that a daemon answers.
  package enum Signal: Int32, CaseIterable, Sendable {
    /// SIGHUP: read configuration and rules again.
    case hangUp = 1
    /// SIGINT: end.
    case interrupt = 2
    /// SIGTERM: end.
    case terminate = 15
  }

  private var handles: [SignalHandle] = []

  /// Watches `signals` until `close`; their default actions do not happen meanwhile.
  package init(
    on loop: EventLoop, _ signals: [Signal] = Signal.allCases, _ body: @escaping (Signal) -> Void
  ) throws(SystemError) {
    for signal in signals { handles.append(try SignalHandle(on: loop, signal, body)) }
  }

  /// Restores the signals' default actions.
  package func close() {
    for handle in handles { handle.close() }
    handles = []
  }
}

private final class SignalHandle: LoopHandle {
  private var body: ((SignalWatcher.Signal) -> Void)?
  private let signal: SignalWatcher.Signal

  init(
    on loop: EventLoop, _ signal: SignalWatcher.Signal, _ body: @escaping (SignalWatcher.Signal) -> Void
  ) throws(SystemError) {
    self.body = body
    self.signal = signal
    try super.init(uv_signal_t.self, on: loop, call: "uv_signal_init", context: "signal \(signal)") {
      uv_signal_init($0, $1)
    }
    let status = uv_signal_start(pointer(uv_signal_t.self), signalArrived, signal.rawValue)
    precondition(status == 0, "a signal that can be caught could not be watched")
  }

  override func didClose() { body = nil }

  func report() {
    loop.beginTick()
    body?(signal)
  }
}

private func signalArrived(_ handle: UnsafeMutablePointer<uv_signal_t>?, _ number: Int32) {
  SignalHandle.owner(of: handle?.pointee.data)?.report()
}
