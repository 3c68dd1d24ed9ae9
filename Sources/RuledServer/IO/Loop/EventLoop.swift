internal import CUV
internal import Glibc

/// A libuv loop, confined to the thread that made it.
///
/// Every turn of the loop ends, before it blocks for new input, with two phases: `work` (commit what the turn has gathered)
/// and then `output` (write what the turn has to say). Debug builds trap when another thread touches the loop.
package final class EventLoop {
  /// When in the end of a turn a hook runs.
  package enum Phase {
    /// First: gathered work, which may produce output.
    case work
    /// Last: output.
    case output
  }

  let raw: UnsafeMutablePointer<uv_loop_t>
  private let prepare: UnsafeMutablePointer<uv_prepare_t>
  private let idle: UnsafeMutablePointer<uv_idle_t>
  private let thread = pthread_self()
  private var workHooks: [() -> Void] = []
  private var outputHooks: [() -> Void] = []
  private var soon: [() -> Void] = []
  private var isStopped = false
  private var isClosed = false
  private var gate: TurnGate?
  private var isInTurn = false
  private var lookout = Lookout()
  private var expectsInput: () -> Bool = { false }

  /// Makes a loop for the calling thread.
  package init() throws(SystemError) {
    raw = .allocate(capacity: 1)
    let status = uv_loop_init(raw)
    guard status == 0 else {
      raw.deallocate()
      throw SystemError(uv: status, call: "uv_loop_init", context: "event loop")
    }
    prepare = .allocate(capacity: 1)
    idle = .allocate(capacity: 1)
    uv_prepare_init(raw, prepare)
    uv_idle_init(raw, idle)
    prepare.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    idle.pointee.data = prepare.pointee.data
    uv_prepare_start(prepare, loopTurnEnded)
  }

  deinit {
    precondition(isClosed, "an event loop is closed before it is dropped")
    prepare.deallocate()
    idle.deallocate()
    raw.deallocate()
  }

  /// Traps in debug builds when the caller is not on the loop's thread.
  @inline(__always)
  package func assertOnLoop() { assert(pthread_equal(thread, pthread_self()) != 0, "used from another thread") }

  /// The time in nanoseconds, from an arbitrary start; it goes on within a turn.
  package static var nanoseconds: UInt64 { uv_hrtime() }

  /// The loop's time in milliseconds, from an arbitrary start; it stands still within a turn.
  package var now: UInt64 { uv_now(raw) }

  /// Serves until `stop`.
  package func run() {
    assertOnLoop()
    isStopped = false
    while !isStopped { uv_run(raw, UV_RUN_DEFAULT) }
    endTurn()
  }

  /// Has the loop hold `gate` during each of its turns from now on.
  package func keep(_ gate: TurnGate) {
    assertOnLoop()
    self.gate = gate
  }

  /// Begins a turn unless one is under way: before anything that libuv calls.
  func beginTurn() {
    guard let gate, !isInTurn else { return }
    gate.enter()
    isInTurn = true
  }

  /// Ends `run` after the present turn; to be called on the loop's thread.
  package func stop() {
    assertOnLoop()
    isStopped = true
    uv_stop(raw)
  }

  /// Adds a closure that runs at the end of every turn, after those of its phase that were added before.
  package func atTurnEnd(_ phase: Phase, _ body: @escaping () -> Void) {
    assertOnLoop()
    switch phase {
    case .work: workHooks.append(body)
    case .output: outputHooks.append(body)
    }
  }

  /// Has the loop look for input before it sleeps when `isExpected` says, at the end of a turn, that there is nothing to do but wait for some.
  package func lookOut(when isExpected: @escaping () -> Bool) {
    assertOnLoop()
    expectsInput = isExpected
  }

  /// Runs a closure once in the next turn, which then does not block.
  package func soon(_ body: @escaping () -> Void) {
    assertOnLoop()
    if soon.isEmpty { uv_idle_start(idle, loopIdled) }
    soon.append(body)
  }

  /// Calls a closure after `delay` milliseconds, and then every `period` milliseconds unless that is 0.
  @discardableResult
  package func timer(
    after delay: UInt64, every period: UInt64 = 0, _ body: @escaping () -> Void
  ) throws(SystemError) -> LoopTimer {
    let timer = try LoopTimer(on: self, closesAfterFiring: period == 0, body)
    timer.start(after: delay, every: period)
    return timer
  }

  /// Closes every handle that is still open, then the loop; nothing of either may be used any more.
  package func close() {
    assertOnLoop()
    guard !isClosed else { return }
    isClosed = true
    workHooks = []
    outputHooks = []
    soon = []
    expectsInput = { false }
    uv_walk(raw, closeLoopHandle, nil)
    while uv_run(raw, UV_RUN_DEFAULT) != 0 {}
    let status = uv_loop_close(raw)
    precondition(status == 0, "an event loop was closed with handles open")
  }

  fileprivate func endTurn() {
    beginTurn()
    for hook in workHooks { hook() }
    for hook in outputHooks { hook() }
    let looksOut = expectsInput() && lookout.isNext() && uv_backend_timeout(raw) != 0
    if isInTurn {
      isInTurn = false
      gate?.leave()
    }
    if looksOut { lookout.look(at: uv_backend_fd(raw)) }
  }

  fileprivate func runSoon() {
    beginTurn()
    uv_idle_stop(idle)
    let due = soon
    soon = []
    for body in due { body() }
  }
}

private func loopTurnEnded(_ handle: UnsafeMutablePointer<uv_prepare_t>?) {
  guard let data = handle?.pointee.data else { return }
  Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue().endTurn()
}

private func loopIdled(_ handle: UnsafeMutablePointer<uv_idle_t>?) {
  guard let data = handle?.pointee.data else { return }
  Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue().runSoon()
}

private func closeLoopHandle(_ handle: UnsafeMutablePointer<uv_handle_t>?, _ context: UnsafeMutableRawPointer?) {
  guard let handle, uv_is_closing(handle) == 0 else { return }
  switch uv_handle_get_type(handle) {
  case UV_PREPARE, UV_IDLE: uv_close(handle, nil)
  default: LoopHandle.owner(of: handle.pointee.data)?.close()
  }
}
