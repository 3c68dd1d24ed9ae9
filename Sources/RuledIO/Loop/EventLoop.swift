internal import CUV
internal import Glibc
internal import RuledCore

/// A libuv loop, confined to the thread that made it.
///
/// One iteration of the loop is a tick. Before the loop waits for input, the tick ends with two phases: `work` (commit the tick's batch),
/// then `output` (write the tick's output). Debug builds trap when another thread uses the loop or its handles.
///
/// Open handles keep their loop alive. `close` closes them; a loop that is dropped without handles closes itself.
@usableFromInline package final class EventLoop {
  /// The two phases at the end of a tick.
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
  private var queued: [() -> Void] = []
  private var isStopped = false
  private var isClosed = false
  private var lock: TickLock?
  private var isInTick = false
  private var busyPoll = BusyPoll()
  private var expectsInput: () -> Bool = { false }
  /// The memory that all streams read into, one at a time.
  private(set) lazy var scratch = ByteBuffer(capacity: 256 << 10)

  package init() throws(SystemError) {
    try Self.checkDescriptors()
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
    uv_prepare_start(prepare) { handle in
      guard let data = handle?.pointee.data else { return }
      Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue().endTick()
    }
  }

  /// Throws if the process can't open the few descriptors of a loop: libuv ends the process if it has none for its first one, which takes two pipes for
  /// signals, two descriptors of epoll, and an eventfd.
  private static func checkDescriptors() throws(SystemError) {
    var opened: [Int32] = []
    defer { for descriptor in opened { SystemCalls.close(descriptor) } }
    while opened.count < 8 {
      opened.append(try SystemCalls.check("eventfd", "event loop") { eventfd(0, Int32(EFD_CLOEXEC)) })
    }
  }

  deinit {
    closeHandles()
    prepare.deallocate()
    idle.deallocate()
    raw.deallocate()
  }

  /// Traps in debug builds when the caller is not on the loop's thread.
  @inline(__always)
  func assertOnLoop() { assert(pthread_equal(thread, pthread_self()) != 0, "used from another thread") }

  /// The loop's time in milliseconds of `MonotonicClock`; it is the same during a whole tick.
  package var now: UInt64 { uv_now(raw) }

  /// Serves until `stop`.
  package func run() {
    assertOnLoop()
    isStopped = false
    while !isStopped { uv_run(raw, UV_RUN_DEFAULT) }
    endTick()
  }

  /// Handles the events that have come, without waiting for more.
  func runOnce() {
    assertOnLoop()
    uv_run(raw, UV_RUN_NOWAIT)
  }

  /// Makes `run` return after the present tick.
  package func stop() {
    assertOnLoop()
    isStopped = true
    uv_stop(raw)
  }

  /// Closes every open handle, then the loop.
  ///
  /// Neither may be used afterwards.
  package func close() {
    assertOnLoop()
    closeHandles()
  }

  private func closeHandles() {
    guard !isClosed else { return }
    isClosed = true
    workHooks = []
    outputHooks = []
    queued = []
    expectsInput = { false }
    let closeHandle: uv_walk_cb = { handle, _ in
      guard let handle, uv_is_closing(handle) == 0 else { return }
      switch uv_handle_get_type(handle) {
      case UV_PREPARE, UV_IDLE: uv_close(handle, nil)
      default: LoopHandle.owner(of: handle.pointee.data)?.close()
      }
    }
    uv_walk(raw, closeHandle, nil)
    while uv_run(raw, UV_RUN_DEFAULT) != 0 {}
    let status = uv_loop_close(raw)
    precondition(status == 0, "an event loop was closed with handles open")
  }

  // MARK: Ticks

  /// Makes the loop hold `lock` during each tick from now on, and not while it waits for input.
  package func lockDuringTicks(_ lock: TickLock) {
    assertOnLoop()
    self.lock = lock
  }

  /// Adds a closure that runs at the end of every tick, after earlier ones of the same phase.
  package func atTickEnd(_ phase: Phase, _ body: @escaping () -> Void) {
    assertOnLoop()
    switch phase {
    case .work: workHooks.append(body)
    case .output: outputHooks.append(body)
    }
  }

  /// Runs a closure once in the next tick.
  ///
  /// The loop does not wait for input before that.
  package func onNextTick(_ body: @escaping () -> Void) {
    assertOnLoop()
    if queued.isEmpty {
      uv_idle_start(idle) { handle in
        guard let data = handle?.pointee.data else { return }
        Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue().runQueued()
      }
    }
    queued.append(body)
  }

  /// Calls a closure after `delay` milliseconds, and then every `period` milliseconds if that is not 0.
  @discardableResult
  package func timer(
    after delay: UInt64, every period: UInt64 = 0, _ body: @escaping () -> Void
  ) throws(SystemError) -> LoopTimer {
    let timer = try LoopTimer(on: self, closesAfterFiring: period == 0, body)
    timer.start(after: delay, every: period)
    return timer
  }

  /// Lets the loop poll for input before it sleeps, whenever `isExpected` is true at the end of a tick.
  package func pollBeforeSleeping(when isExpected: @escaping () -> Bool) {
    assertOnLoop()
    expectsInput = isExpected
  }

  /// Begins a tick unless one has begun.
  ///
  /// Every callback from libuv calls this first.
  func beginTick() {
    guard let lock, !isInTick else { return }
    lock.lock()
    isInTick = true
  }

  private func endTick() {
    beginTick()
    for hook in workHooks { hook() }
    for hook in outputHooks { hook() }
    let polls = expectsInput() && busyPoll.isNext() && uv_backend_timeout(raw) != 0
    if isInTick {
      isInTick = false
      lock?.unlock()
    }
    if polls { busyPoll.poll(uv_backend_fd(raw)) }
  }

  private func runQueued() {
    beginTick()
    uv_idle_stop(idle)
    let due = queued
    queued = []
    for body in due { body() }
  }
}

/// A lock that a loop holds during its ticks: another thread that holds it may use objects of the loop's thread.
///
/// This does not cover libuv's handles, which the loop uses outside of ticks, too.
public final class TickLock: @unchecked Sendable {  // a pthread mutex at a fixed address
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  package init() { pthread_mutex_init(mutex, nil) }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @usableFromInline func lock() { pthread_mutex_lock(mutex) }

  @usableFromInline func tryLock() -> Bool { pthread_mutex_trylock(mutex) == 0 }

  @usableFromInline func unlock() { pthread_mutex_unlock(mutex) }

  @inlinable
  package func withLock<Result>(_ body: () -> Result) -> Result {
    lock()
    defer { unlock() }
    return body()
  }

  /// Runs `body` with the lock held, or returns nil if another thread holds it.
  @inlinable
  package func withLockIfAvailable<Result>(_ body: () -> Result) -> Result? {
    guard tryLock() else { return nil }
    defer { unlock() }
    return body()
  }
}

/// Polls a descriptor for up to 100 microseconds before the loop sleeps, if input has come that soon lately.
///
/// Waking a thread takes the kernel longer than a client with one request in flight needs to send its next one. After a fruitless poll, polling is
/// skipped for the next n sleeps; n begins at 4 and doubles up to 256 while polls stay fruitless, so that useless polls cost next to nothing.
struct BusyPoll {
  /// The nanoseconds of a poll.
  private static let duration: UInt64 = 100_000
  private var attempts = AttemptSkipper(fewest: 4, most: 256)

  /// Whether the next sleep begins with a poll.
  mutating func isNext() -> Bool { attempts.shouldTry() }

  /// Polls a descriptor for input, and yields the processor to other threads meanwhile.
  mutating func poll(_ descriptor: Int32) {
    let end = uv_hrtime() + Self.duration
    repeat {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if Glibc.poll(&entry, 1, 0) > 0 { return attempts.noteSuccess() }
      sched_yield()
    } while uv_hrtime() < end
    attempts.noteFailure()
  }
}
