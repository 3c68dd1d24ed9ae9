import RuledIO
import Synchronization

/// Reports to systemd's watchdog twice in each period, as long as every worker's loop answers.
final class Watchdog {
  private let services: Services
  private let round = Round()
  private var timer: LoopTimer?

  /// The number of workers without an answer yet.
  private final class Round: Sendable {
    let missing = Atomic<Int>(0)
  }

  /// A watchdog on the control thread's loop; idle unless systemd asks for one.
  init(on loop: EventLoop, _ services: Services) throws(SystemError) {
    self.services = services
    timer = try services.notifier.watchdogTimer(on: loop) { [unowned self] in ask() }
  }

  func close() { timer?.close() }

  /// Asks all workers.
  ///
  /// The last one to answer reports, so that no report is made while one is stuck.
  private func ask() {
    let (round, notifier) = (round, services.notifier)
    guard round.missing.load(ordering: .acquiring) == 0 else { return }
    round.missing.store(services.workers.count, ordering: .releasing)
    for worker in services.workers {
      _ = worker.send(
        .wake {
          let missing = round.missing.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
          if missing == 0 { notifier.watchdog() }
        })
    }
  }
}
