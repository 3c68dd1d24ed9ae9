internal import CUV

/// Turns signals of the process into calls on a loop.
package final class SignalWatcher {
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
    let status = uv_signal_start(
      pointer(uv_signal_t.self), { handle, _ in SignalHandle.owner(of: handle?.pointee.data)?.report() },
      signal.rawValue)
    precondition(status == 0, "a signal that can be caught could not be watched")
  }

  override func didClose() { body = nil }

  private func report() {
    loop.beginTick()
    body?(signal)
  }
}
