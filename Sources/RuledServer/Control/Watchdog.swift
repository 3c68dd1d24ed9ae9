import Synchronization

/// Gives systemd its sign of life, twice in each period, as long as every worker's loop answers.
final class Watchdog {
  private let services: Services
  private let round = Round()
  private var timer: LoopTimer?

  /// What the workers have not answered yet.
  private final class Round: Sendable {
    let missing = Atomic<Int>(0)
  }

  /// A watchdog on the control thread's loop; idle when nobody asked for one.
  init(on loop: EventLoop, _ services: Services) throws(SystemError) {
    self.services = services
    guard let period = services.notifier.watchdogMilliseconds else { return }
    timer = try loop.timer(after: 1, every: max(1, period / 2)) { [unowned self] in ask() }
  }

  /// Asks no more.
  func close() { timer?.close() }

  /// Asks all workers; who answers last gives the sign, so that one that is stuck withholds it.
  private func ask() {
    let (round, notifier) = (round, services.notifier)
    guard round.missing.load(ordering: .acquiring) == 0 else { return }
    round.missing.store(services.workers.count, ordering: .releasing)
    for worker in services.workers {
      _ = worker.send(
        .perform { _ in
          let left = round.missing.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
          if left == 0 { notifier.watchdog() }
        })
    }
  }
}
