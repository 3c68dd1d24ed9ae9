package import RuledCore
import Synchronization

/// The counters of a sink since the start, and its state; one thread writes, any may read.
package final class SinkFigures: Sendable {
  /// A sink that has failed for so many seconds is a problem.
  static let failingSeconds = 300

  private let deliveredCount = Atomic<Int>(0)
  private let failedCount = Atomic<Int>(0)
  private let expiredCount = Atomic<Int>(0)
  private let retriedCount = Atomic<Int>(0)
  private let waitingCount = Atomic<Int>(0)
  private let unreadableCount = Atomic<Int>(0)
  private let givenUpCount = Atomic<Int>(0)
  /// When the effect that waits longest was emitted, in the clock's microseconds; `.max` when none waits.
  private let oldestTime = Atomic<Int64>(.max)
  /// When the first failure since the last success happened, in monotonic nanoseconds; 0 when there is none.
  private let failureTime = Atomic<UInt64>(0)
  /// For how long the sink had failed without a success when the daemon started, in nanoseconds.
  private let failedBefore = Atomic<UInt64>(0)
  /// When effects began to wait that nobody has asked to lease, in monotonic nanoseconds; 0 when none do.
  private let unleasedTime = Atomic<UInt64>(0)
  private let deliveries = Mutex(DeliveryRate())

  package init() {}

  /// Effects that the receiver accepted.
  package var delivered: Int { deliveredCount.load(ordering: .relaxed) }
  /// Effects that were given up because the receiver refused them.
  package var failed: Int { failedCount.load(ordering: .relaxed) }
  /// Effects that their handler let expire.
  package var expired: Int { expiredCount.load(ordering: .relaxed) }
  /// Tries that failed and are repeated.
  package var retried: Int { retriedCount.load(ordering: .relaxed) }
  /// About how many effects wait.
  package var waiting: Int { waitingCount.load(ordering: .relaxed) }
  /// Waiting effects that can't be read at present; each holds up the later ones of its subject.
  package var unreadable: Int { unreadableCount.load(ordering: .relaxed) }
  /// How many effects are given up now, and are in the store.
  package var givenUp: Int { givenUpCount.load(ordering: .relaxed) }
  /// Deliveries per second over the last minute.
  var rate: Double { deliveries.withLock { $0.perSecond(now: MonotonicClock.nanoseconds / 1_000_000_000) } }

  /// How many seconds the effect that waits longest has waited; nil when none waits.
  package func oldestSeconds(now: Timestamp) -> Int? {
    let time = oldestTime.load(ordering: .relaxed)
    return time == .max ? nil : max(0, Int((now.microseconds - time) / 1_000_000))
  }

  /// For how many seconds the sink has failed without a success in between; nil when it works.
  package func failingSeconds(now: UInt64) -> Int? { failingNanoseconds(now: now).map { Int($0 / 1_000_000_000) } }

  /// Likewise, in nanoseconds.
  package func failingNanoseconds(now: UInt64) -> UInt64? {
    let time = failureTime.load(ordering: .relaxed)
    return time == 0 ? nil : max(now, time) - time + failedBefore.load(ordering: .relaxed)
  }

  /// Whether the sink has failed without a success since.
  package var isFailing: Bool { failureTime.load(ordering: .relaxed) != 0 }

  /// For how many seconds effects have waited that nobody has asked to lease; nil when none do.
  func unleasedSeconds(now: UInt64) -> Int? { Self.seconds(since: unleasedTime, now: now) }

  private static func seconds(since time: borrowing Atomic<UInt64>, now: UInt64) -> Int? {
    let time = time.load(ordering: .relaxed)
    return time == 0 ? nil : Int((max(now, time) - time) / 1_000_000_000)
  }

  /// The figures as `health` shows them; `clock` is the daemon's time and `now` the monotonic one.
  package func json(clock: Timestamp, now: UInt64) -> JSONValue {
    .object([
      "delivered": .integer(Int64(delivered)), "failed": .integer(Int64(failed)), "expired": .integer(Int64(expired)),
      "retried": .integer(Int64(retried)), "waiting": .integer(Int64(waiting)),
      "unreadable": .integer(Int64(unreadable)), "given_up": .integer(Int64(givenUp)),
      "oldest_s": oldestSeconds(now: clock).map { .integer(Int64($0)) } ?? .null,
      "rate": .number((rate * 100).rounded() / 100),
      "failing_s": failingSeconds(now: now).map { .integer(Int64($0)) } ?? .null,
    ])
  }

  /// What is wrong with the sink of that name, in a sentence that says what to do; nil when nothing is.
  package func problem(of sink: String, now: UInt64) -> String? {
    guard waiting > 0 || givenUp > 0 else { return nil }
    if let seconds = failingSeconds(now: now), seconds >= Self.failingSeconds {
      let resend =
        givenUp > 0 ? "; then 'rulectl effects resend --failed --sink \(sink)' tries again what was given up" : ""
      return "the sink \(sink) has failed for \(seconds / 60) min, \(waiting) of its effects wait and \(givenUp) are "
        + "given up: 'rulectl effects --sink \(sink)' shows why, repair its receiver or its configuration\(resend)"
    }
    if let seconds = unleasedSeconds(now: now), seconds >= Self.failingSeconds {
      return "\(waiting) effects of the sink \(sink) wait, and nobody has leased any for \(seconds / 60) min: start "
        + "ruled-courier, or the program that leases them"
    }
    return nil
  }

  package func countDelivered(_ count: Int = 1) {
    deliveredCount.wrappingAdd(count, ordering: .relaxed)
    deliveries.withLock { $0.add(count, now: MonotonicClock.nanoseconds / 1_000_000_000) }
  }
  package func countFailed() { failedCount.wrappingAdd(1, ordering: .relaxed) }
  package func countExpired() { expiredCount.wrappingAdd(1, ordering: .relaxed) }
  package func countRetried() { retriedCount.wrappingAdd(1, ordering: .relaxed) }
  package func setUnreadable(_ count: Int) { unreadableCount.store(count, ordering: .relaxed) }
  package func setWaiting(_ count: Int) { waitingCount.store(max(count, 0), ordering: .relaxed) }
  package func setGivenUp(_ count: Int) { givenUpCount.store(max(count, 0), ordering: .relaxed) }
  package func setOldest(_ time: Int64?) { oldestTime.store(time ?? .max, ordering: .relaxed) }

  /// Forgets what belongs to a configuration of the sink that is no longer in force.
  package func reset() {
    setWaiting(0)
    setOldest(nil)
    note(success: true)
    note(unleased: false)
  }

  /// Notes a delivery, or a failure of the sink.
  package func note(success: Bool) {
    if success {
      failureTime.store(0, ordering: .relaxed)
      failedBefore.store(0, ordering: .relaxed)
    } else if failureTime.load(ordering: .relaxed) == 0 {
      failureTime.store(MonotonicClock.nanoseconds, ordering: .relaxed)
    }
  }

  /// Continues failures that began so many nanoseconds before the start.
  package func resumeFailing(for nanoseconds: UInt64) {
    failedBefore.store(nanoseconds, ordering: .relaxed)
    failureTime.store(MonotonicClock.nanoseconds, ordering: .relaxed)
  }

  /// Notes whether effects wait that nobody asks to lease.
  package func note(unleased: Bool) {
    if !unleased {
      unleasedTime.store(0, ordering: .relaxed)
    } else if unleasedTime.load(ordering: .relaxed) == 0 {
      unleasedTime.store(MonotonicClock.nanoseconds, ordering: .relaxed)
    }
  }
}

/// Counts deliveries by the second for a minute.
struct DeliveryRate {
  private static let seconds = 60
  private var counts = Array(repeating: (second: UInt64.max, count: 0), count: Self.seconds)

  /// Counts deliveries at a time in seconds.
  mutating func add(_ count: Int, now: UInt64) {
    let slot = Int(now % UInt64(Self.seconds))
    if counts[slot].second != now { counts[slot] = (now, 0) }
    counts[slot].count += count
  }

  /// Deliveries per second over the last minute.
  func perSecond(now: UInt64) -> Double {
    let total = counts.reduce(0) { sum, entry in
      entry.second <= now && now - entry.second < UInt64(Self.seconds) ? sum + entry.count : sum
    }
    return Double(total) / Double(Self.seconds)
  }
}
