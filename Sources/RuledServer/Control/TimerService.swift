import RuledCore
import RuledEngine
import RuledStore

/// Fires timers when they are due, in order, a bounded number at a time; pending ones only stand in the store.
///
/// A timer that can't fire, as something of it can't be read, holds up nobody: it is passed over and tried again, after 1 s at first and 5 minutes at most.
final class TimerService {
  private static let batch = 256
  /// How many timers that can't fire are remembered one by one; beyond it all of them wait.
  private static let mostHeld = 10_000

  /// A timer that could not fire.
  private struct Held {
    var tries = 0
    /// When it may be tried again, by the loop's clock.
    var notBefore: UInt64 = 0
  }

  private let services: Services
  private let loop: EventLoop
  private let backoff = Backoff()
  private var alarm: LoopTimer?
  private var isFiring = false
  private var isStopped = false
  /// No timer stands below this time, in microseconds.
  private var floor = Int64.min
  private var held: [DueTimer: Held] = [:]
  /// How often running the store could not be asked.
  private var failures = 0

  init(services: Services, loop: EventLoop) throws(SystemError) {
    self.services = services
    self.loop = loop
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
    let (now, moment) = (services.context.clock.now.microseconds, loop.now)
    var met: Set<DueTimer> = []
    let found: StoreListing.Timers
    do throws(StoreError) {
      found = try StoreListing.timers(services.context, from: floor, now: now, limit: Self.batch) { timer in
        guard let known = held[timer] else { return false }
        met.insert(timer)
        return known.notBefore > moment
      }
    } catch { return failed(error) }
    failures = 0
    let isDamaged = !services.context.damage.isEmpty
    if !isDamaged { floor = found.first ?? floor }
    guard found.due.isEmpty else { return fire(found.due) }
    held = held.filter { met.contains($0.key) }
    var wait = UInt64(3_600_000)
    if let next = found.next { wait = min(wait, UInt64(max((next - now + 999) / 1000, 1))) }
    for timer in held.values { wait = min(wait, max(timer.notBefore, moment + 1) - moment) }
    if isDamaged { wait = min(wait, backoff.longest) }  // keys that were passed over may be mended
    if found.first != nil || isDamaged { alarm?.start(after: wait) }
  }

  private func failed(_ error: StoreError) {
    failures += 1
    if failures == 1 {
      services.context.log.write(LogLine(.error, "timers can't be looked for and wait until they can be: \(error)"))
    }
    alarm?.start(after: backoff.delay(after: failures))
  }

  private func fire(_ due: [DueTimer]) {
    isFiring = true
    let mailbox = services.control
    let all = Cascade { _ = mailbox.send(.perform { $0.timers.fired(due) }) }
    for timer in due {
      all.began()
      _ = services.workers[services.owner(of: timer.subject)].send(.perform { $0.fire(timer, all) })
    }
    all.ended()
  }

  private func fired(_ timers: [DueTimer]) {
    isFiring = false
    for timer in timers {
      guard let known = held[timer], known.notBefore <= loop.now else { continue }
      held[timer] = nil
      tell(timer, .info, "a timer fires again that could not")
    }
    if services.status.storeIsWell, held.count < Self.mostHeld {
      look()
    } else {
      if held.count >= Self.mostHeld { held.removeAll() }
      alarm?.start(after: services.status.storeIsWell ? backoff.longest : 1000)
    }
  }

  // MARK: Timers that can't fire

  /// A timer could not fire: it waits, unless it is the store that takes nothing.
  func couldNotFire(_ timer: DueTimer, _ error: RequestError) {
    guard services.status.storeIsWell else { return }
    var known = held[timer] ?? Held()
    known.tries += 1
    known.notBefore = loop.now + backoff.delay(after: known.tries)
    held[timer] = known
    if known.tries == 1 { tell(timer, .error, "a timer can't fire, it is tried again: \(error.message)") }
  }

  /// Whether the timer could not fire and waits.
  func holds(_ timer: DueTimer) -> Bool { held[timer] != nil }

  /// Lets all timers be tried again that could not fire.
  func retryHeld() { held.removeAll() }

  private func tell(_ timer: DueTimer, _ level: LogLine.Level, _ message: String) {
    services.context.log.write(
      LogLine(
        level, message, plugin: String(decoding: timer.plugin, as: UTF8.self),
        subjectHash: OutboxService.hash(timer.subject)))
  }
}

extension Worker {
  /// Fires a timer and lets `cascade` know once it is durable.
  func fire(_ timer: DueTimer, _ cascade: Cascade) {
    do throws(RequestError) { try evaluator.fire(timer, cascade: cascade) } catch {
      _ = services.control.send(.perform { $0.timers.couldNotFire(timer, error) })
    }
    evaluator.batch.awaited.append(cascade)
  }
}
