import RuledCore
import RuledEngine
import RuledIO
import RuledStore

/// Fires timers when they are due, in their order, up to 256 at a time.
///
/// Pending timers are only in the store. Timers of a plugin that is not in force wait; all timers are looked at again when other rules come into force.
///
/// A timer that can't fire because of unreadable data does not delay the others: it is skipped and tried again, after 1 second at first and
/// 5 minutes at most.
final class TimerService {
  /// The most timers that fire at a time.
  private static let turnSize = 256
  /// The most timers that are remembered one by one because they can't fire; if there are more, all timers wait.
  private static let retryLimit = 10_000

  /// The longest wait in milliseconds: the host's clock may be set forward meanwhile, which the alarm does not notice.
  private static let longestWait: UInt64 = 10_000

  private let services: Services
  private let loop: EventLoop
  private let backoff = Backoff()
  private var alarm: LoopTimer?
  private var isFiring = false
  private var isStopped = false
  /// No timer that can fire is due before this time, in microseconds.
  private var floor = Int64.min
  /// The timers that can't fire, and when each is tried again, in the loop's milliseconds.
  private var retries: [DueTimer: (tries: Int, notBefore: UInt64)] = [:] {
    didSet { services.timers.retried.store(retries.count, ordering: .relaxed) }
  }
  /// How often in a row the timers could not be read from the store.
  private var failures = 0

  init(services: Services, loop: EventLoop) throws(SystemError) {
    self.services = services
    self.loop = loop
    alarm = try LoopTimer(on: loop) { [unowned self] in fireDue() }
  }

  func stop() {
    isStopped = true
    alarm?.stop()
  }

  func close() { alarm?.close() }

  /// Notes that a timer was set, due at this time in microseconds.
  func set(_ due: Int64) {
    floor = min(floor, due)
    services.timers.earliest.min(due, ordering: .relaxed)
    if !isFiring { fireDue() }
  }

  /// Fires due timers, or sets the alarm for the next one.
  func fireDue() {
    guard !services.context.clock.isManual, !isFiring, !isStopped else { return }
    let (now, moment) = (services.context.clock.now.microseconds, loop.now)
    var found: Set<DueTimer> = []
    let timers: StoreListing.Timers
    do throws(StoreError) {
      let rules = services.status.rulesInForce
      timers = try StoreListing.timers(
        services.context, from: floor, now: now, limit: Self.turnSize, waiting: { !rules.havePlugin(of: $0) },
        skipping: { timer in
          guard let retry = retries[timer] else { return false }
          found.insert(timer)
          return retry.notBefore > moment
        })
    } catch { return retry(after: error) }
    failures = 0
    services.timers.earliest.store(timers.first ?? .max, ordering: .relaxed)
    let isDamaged = !services.context.damage.isEmpty
    if !isDamaged { floor = timers.first ?? max(floor, now) }
    guard timers.due.isEmpty else { return fire(timers.due) }
    retries = retries.filter { found.contains($0.key) }
    var wait = Self.longestWait
    if let next = timers.next { wait = min(wait, UInt64(max((next - now + 999) / 1000, 1))) }
    for timer in retries.values { wait = min(wait, max(timer.notBefore, moment + 1) - moment) }
    if isDamaged { wait = min(wait, backoff.longest) }  // skipped keys may be readable by then
    if timers.first != nil || isDamaged { alarm?.start(after: wait) }
  }

  private func retry(after error: StoreError) {
    failures += 1
    if failures == 1 {
      services.log.error("timers can't be looked for and wait until they can be: \(error)")
    }
    alarm?.start(after: backoff.delay(after: failures))
  }

  private func fire(_ due: [DueTimer]) {
    isFiring = true
    let mailbox = services.control
    let all = Cascade { _ = mailbox.send(.timersFired(due)) }
    for timer in due {
      all.enter()
      _ = services.workers[services.worker(for: timer.subject)].send(.fire(timer, all))
    }
    all.leave()
  }

  /// Goes on after timers have fired.
  func finish(_ timers: [DueTimer]) {
    isFiring = false
    services.timers.fired.wrappingAdd(timers.count, ordering: .relaxed)
    for timer in timers {
      guard let retry = retries[timer], retry.notBefore <= loop.now else { continue }
      retries[timer] = nil
      log(timer, .info, "a timer fires again that could not")
    }
    if services.status.storeIsWell, retries.count < Self.retryLimit {
      fireDue()
    } else {
      if retries.count >= Self.retryLimit { retries.removeAll() }
      alarm?.start(after: services.status.storeIsWell ? backoff.longest : 1000)
    }
  }

  // MARK: Timers that can't fire

  /// Tries a timer that could not fire again later, unless the store takes no commits.
  func retryLater(_ timer: DueTimer, after error: RequestError) {
    guard services.status.storeIsWell else { return }
    var retry = retries[timer] ?? (0, 0)
    retry.tries += 1
    retry.notBefore = loop.now + backoff.delay(after: retry.tries)
    retries[timer] = retry
    if retry.tries == 1 { log(timer, .error, "a timer can't fire, it is tried again: \(error.message)") }
  }

  func isDelayed(_ timer: DueTimer) -> Bool { retries[timer] != nil }
  func retryAll() { retries.removeAll() }

  private func log(_ timer: DueTimer, _ level: LogLine.Level, _ message: String) {
    services.log.write(
      LogLine(
        level, message, plugin: timer.plugin.text,
        subjectHash: LogLine.hash(of: timer.subject)))
  }
}
