import RuledCore
import RuledEngine
import RuledIO

/// How the daemon ends, or gives the log of a cluster up: received requests are answered first.
extension Daemon {
  /// Stops accepting, waits until the workers have answered and committed what they received, and then ends the threads.
  ///
  /// A signal may come while the node gives the log up: then it ends instead of following.
  func stop(_ services: Services, _ commits: CommitPipeline, _ control: Control, for reason: StopReason) {
    if reason == .drained { return Self.end(services, commits, control) }
    if reason == .signal { isEnding = true }
    if isHandingOver {
      guard !isStopping else { return }
      log.write(LogLine(.info, "giving the log of commits up: received requests are answered first"))
    } else if sockets != nil {
      notifier.stopping()
      log.write(LogLine(.info, "ending: received requests are answered first"))
      sockets = nil  // new clients are refused; those that are served have copies
    }
    guard !isStopping else { return }
    isStopping = true
    control.stopAccepting()
    membership?.links?.stopAccepting()
    services.reloads.end()
    services.outbox.endWaits()
    drain(services, control)
    do throws(SystemError) {
      try control.loop.timer(after: Self.loadingTime) {
        for caller in services.reloads.refuse() { services.reply(.failure(Reloads.ending), to: caller) }
      }
      try control.loop.timer(after: UInt64(Limits.shutdownTime / 1000) - 500) {
        Self.end(services, commits, control)
      }
    } catch {
      Self.end(services, commits, control)
    }
  }

  /// Lets the workers answer and commit what they received, and then ends the threads.
  private func drain(_ services: Services, _ control: Control) {
    let isHandingOver = isHandingOver
    let mailbox = services.control
    let drained = Cascade {
      services.outbox.stop(within: isHandingOver ? Self.handOverTime : Self.deliveryTime) {
        _ = mailbox.send(.stop(.drained))
      }
    }
    for worker in services.workers {
      drained.enter()
      _ = worker.send(.drain { drained.leave() })
    }
    drained.enter()
    if let web { web.drain(on: control.loop) { drained.leave() } } else { drained.leave() }
    drained.leave()
  }

  /// How many milliseconds clients still wait for rules that are being loaded.
  private static let loadingTime: UInt64 = 1_000
  /// How many milliseconds deliveries in flight may take to end.
  private static let deliveryTime: UInt64 = 3_000
  /// The same where another node waits for the log: it delivers the unfinished effects again.
  private static let handOverTime: UInt64 = 50

  private static func end(_ services: Services, _ commits: CommitPipeline, _ control: Control) {
    services.outbox.stop(within: 0)
    for worker in services.workers { _ = worker.send(.stop) }
    commits.stop()
    control.loop.stop()
  }
}
