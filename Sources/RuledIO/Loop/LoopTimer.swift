internal import CUV

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

  /// Starts or restarts: fires after `delay` milliseconds, then every `period` milliseconds if that is not 0.
  package func start(after delay: UInt64, every period: UInt64 = 0) {
    loop.assertOnLoop()
    precondition(!isClosed, "a closed timer is not started")
    uv_update_time(loop.raw)
    uv_timer_start(pointer(uv_timer_t.self), { LoopTimer.owner(of: $0?.pointee.data)?.fire() }, delay, period)
  }

  /// Whether it will fire.
  package var isRunning: Bool { !isClosed && uv_is_active(raw) != 0 }

  /// Stops; it can be started again.
  package func stop() {
    loop.assertOnLoop()
    if !isClosed { uv_timer_stop(pointer(uv_timer_t.self)) }
  }

  override func didClose() { body = nil }

  private func fire() {
    loop.beginTick()
    let body = body
    if closesAfterFiring { close() }
    body?()
  }
}
