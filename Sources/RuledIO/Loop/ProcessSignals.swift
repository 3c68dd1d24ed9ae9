internal import CUV

/// The signals of a process whose parts serve one after the other, each on a loop of its own.
///
/// They have their default actions before the first part serves. A signal that comes while no part serves waits for the next part. Confined to the
/// thread that made it.
package final class ProcessSignals {
  /// A loop within the loops of the parts: it runs when they see that a signal waits in it.
  private var inner: EventLoop?
  private var watcher: SignalWatcher?
  private var body: (SignalWatcher.Signal) -> Void = { _ in }
  /// The signals that have come since the last tick, each once: other work goes on however fast they come.
  private var waiting: [SignalWatcher.Signal] = []

  package init() {}

  deinit { inner?.close() }

  /// Calls `body` on `loop` for each signal, waiting ones included, until the returned poll is closed; equal ones within a tick count as one.
  package func attach(
    to loop: EventLoop, _ body: @escaping (SignalWatcher.Signal) -> Void
  ) throws(SystemError) -> DescriptorPoll {
    self.body = body
    let inner = if let inner { inner } else { try watch() }
    let poll = try DescriptorPoll(on: loop, uv_backend_fd(inner.raw)) { [self] _ in report(from: inner) }
    poll.wait(for: .readable)
    // libuv watches the descriptors of a loop only once the loop has run.
    loop.onNextTick { [self] in report(from: inner) }
    return poll
  }

  private func report(from inner: EventLoop) {
    inner.runOnce()
    let signals = waiting
    waiting = []
    for signal in signals { body(signal) }
  }

  private func watch() throws(SystemError) -> EventLoop {
    let loop = try EventLoop()
    watcher = try SignalWatcher(on: loop) { [unowned self] in if !waiting.contains($0) { waiting.append($0) } }
    inner = loop
    return loop
  }
}
