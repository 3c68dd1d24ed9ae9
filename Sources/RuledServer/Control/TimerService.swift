import RuledCore
import RuledEngine
import RuledStore

/// Fires timers when they are due, in order, a bounded number at a time; pending ones only stand in the store.
final class TimerService {
  private static let batch = 256

  private let services: Services
  private var alarm: LoopTimer?
  private var isFiring = false
  private var isStopped = false
  /// No timer stands below this time, in microseconds.
  private var floor = Int64.min

  init(services: Services, loop: EventLoop) throws(SystemError) {
    self.services = services
    alarm = try LoopTimer(on: loop) { [unowned self] in look() }
  }

  /// Begins with what came due while the daemon was down.
  func start() { look() }

  /// Fires nothing more.
  func stop() {
    isStopped = true
    alarm?.stop()
  }

  func close() { alarm?.close() }

  /// A timer was set.
  func set(_ due: Int64) {
    floor = min(floor, due)
    if !isFiring { look() }
  }

  /// Fires what is due and sets the alarm for the next.
  func look() {
    guard !services.context.clock.isManual, !isFiring, !isStopped else { return }
    let now = services.context.clock.now.microseconds
    guard let due = try? StoreListing.dueTimers(services.context.store, from: floor, now: now, limit: Self.batch) else {
      alarm?.start(after: 1000)
      return
    }
    guard due.isEmpty else {
      floor = due[0].due
      return fire(due)
    }
    guard let next = try? StoreListing.nextTimer(services.context.store, from: floor) else { return }
    floor = next
    alarm?.start(after: UInt64(min(max((next - now + 999) / 1000, 1), 3_600_000)))
  }

  private func fire(_ due: [DueTimer]) {
    isFiring = true
    let mailbox = services.control
    let all = Cascade { _ = mailbox.send(.perform { $0.timers.fired() }) }
    for timer in due {
      all.began()
      _ = services.workers[services.owner(of: timer.subject)].send(.perform { $0.fire(timer, all) })
    }
    all.ended()
  }

  private func fired() {
    isFiring = false
    if services.status.storeIsWell {
      look()
    } else {
      alarm?.start(after: 1000)
    }
  }
}

extension Worker {
  /// Fires a timer and lets `cascade` know once it is durable.
  func fire(_ timer: DueTimer, _ cascade: Cascade) {
    do throws(RequestError) { try evaluator.fire(timer, cascade: cascade) } catch {
      services.context.log.write(LogLine(.warn, "a timer could not fire and will be tried again: \(error.message)"))
    }
    evaluator.unit.awaited.append(cascade)
  }
}
