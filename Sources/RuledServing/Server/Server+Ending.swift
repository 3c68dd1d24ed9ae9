import RuledCore
import RuledEngine
import RuledIO

/// How the daemon ends, or gives the log of a cluster up: received requests are answered first.
extension Server {
  /// Stops accepting, waits until the workers have answered and committed all received requests, and then ends the threads.
  ///
  /// A signal may come while the node gives the log up: then it ends instead of following.
  func stop(_ commits: CommitPipeline, _ control: Control, for reason: StopReason) {
    if reason == .drained { return end(commits, control) }
    if reason == .signal { isEnding = true }
    if isGivingUp {
      guard !isStopping else { return }
      log.info("giving the log of commits up: received requests are answered first")
    } else if sockets.close() {  // new clients are refused; accepted ones have sockets of their own
      services.notifier.stopping()
      log.info("ending: received requests are answered first")
    }
    guard !isStopping else { return }
    isStopping = true
    control.stopAccepting()
    member?.refuseClients()
    services.reloads.end()
    services.outbox.mailbox.send(.endAllWaits)
    drain(control)
    do throws(SystemError) {
      try control.loop.timer(after: Self.loadingTime) { [services] in
        for caller in services.reloads.refuse() { services.reply(.failure(Reloads.ending), to: caller) }
      }
      try control.loop.timer(after: UInt64(Limits.shutdownTime / 1000) - 500) { [self] in
        end(commits, control)
      }
    } catch { end(commits, control) }
  }

  /// Lets the workers answer and commit all received requests, and then ends the threads.
  private func drain(_ control: Control) {
    let isGivingUp = isGivingUp
    let mailbox = services.control
    let drained = Cascade { [services] in
      services.outbox.stop(within: isGivingUp ? Self.handOverTime : Self.deliveryTime) {
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

  /// How long clients still wait for a load of rules, in milliseconds.
  private static let loadingTime: UInt64 = 1_000
  /// How long deliveries in flight may take to end, in milliseconds.
  private static let deliveryTime: UInt64 = 3_000
  /// The same where another node waits for the log: it delivers the unfinished effects again.
  private static let handOverTime: UInt64 = 50

  private func end(_ commits: CommitPipeline, _ control: Control) {
    services.outbox.stop(within: 0)
    for worker in services.workers { _ = worker.send(.stop) }
    commits.stop()
    control.loop.stop()
  }
}
