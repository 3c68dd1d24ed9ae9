package import RuledCore
import Synchronization

/// The counters of a sink since the start, and its state; one thread writes, any may read.
package final class SinkFigures: Sendable {
  /// A sink that has failed for so many seconds is a problem.
  static let failingSeconds = 300

  package struct Values: Sendable {
    /// Effects that the receiver accepted.
    package fileprivate(set) var delivered = 0
    /// Effects given up because the receiver refused them.
    package fileprivate(set) var failed = 0
    package fileprivate(set) var expired = 0
    /// Tries that failed and are repeated.
    package fileprivate(set) var retried = 0
    /// The number of waiting effects, about.
    package fileprivate(set) var waiting = 0
    /// Waiting effects that are unreadable at present; each holds up the later ones of its subject.
    package fileprivate(set) var unreadable = 0
    /// The number of given-up effects in the store now.
    package fileprivate(set) var givenUp = 0
    /// When the effect that waits longest was emitted, in the clock's microseconds; nil when none waits.
    fileprivate var oldest: Int64?
    /// When the first failure since the last success happened, in monotonic nanoseconds; nil when there is none.
    fileprivate var failureTime: UInt64?
    /// For how long the sink had failed without a success when the daemon started, in nanoseconds.
    fileprivate var failedBefore: UInt64 = 0
    /// Since when effects wait without a client that asks to lease them, in monotonic nanoseconds; nil when none do.
    fileprivate var unleasedTime: UInt64?
    fileprivate var deliveries = DeliveryRate()
  }

  private let values = Mutex(Values())

  package init() {}

  package var present: Values { values.withLock { $0 } }

  /// The age in seconds of the effect that waits longest; nil when none waits.
  package func oldestSeconds(now: Timestamp) -> Int? {
    present.oldest.map { max(0, Int((now.microseconds - $0) / 1_000_000)) }
  }

  /// How long the sink has failed without a success in between, in seconds; nil when it works.
  package func failingSeconds(now: UInt64) -> Int? { failingNanoseconds(now: now).map { Int($0 / 1_000_000_000) } }

  package func failingNanoseconds(now: UInt64) -> UInt64? {
    let values = present
    return values.failureTime.map { max(now, $0) - $0 + values.failedBefore }
  }

  /// Whether the sink has failed without a success since.
  package var isFailing: Bool { present.failureTime != nil }

  /// How long effects have waited without a client that asks to lease them, in seconds; nil when none do.
  func unleasedSeconds(now: UInt64) -> Int? { present.unleasedTime.map { Int((max(now, $0) - $0) / 1_000_000_000) } }

  /// The figures as `health` shows them; `clock` is the daemon's time and `now` the monotonic one.
  package func json(clock: Timestamp, now: UInt64) -> JSONValue {
    let values = present
    let rate = values.deliveries.perSecond(now: MonotonicClock.nanoseconds / 1_000_000_000)
    return .object([
      "delivered": .integer(Int64(values.delivered)), "failed": .integer(Int64(values.failed)),
      "expired": .integer(Int64(values.expired)), "retried": .integer(Int64(values.retried)),
      "waiting": .integer(Int64(values.waiting)), "unreadable": .integer(Int64(values.unreadable)),
      "given_up": .integer(Int64(values.givenUp)),
      "oldest_s": oldestSeconds(now: clock).map { .integer(Int64($0)) } ?? .null,
      "rate": .number((rate * 100).rounded() / 100),
      "failing_s": failingSeconds(now: now).map { .integer(Int64($0)) } ?? .null,
    ])
  }

  /// The problem of the sink of that name, in a sentence with its remedy; nil without one.
  package func problem(of sink: String, now: UInt64) -> String? {
    let (waiting, givenUp) = (present.waiting, present.givenUp)
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
    values.withLock {
      $0.delivered += count
      $0.deliveries.add(count, now: MonotonicClock.nanoseconds / 1_000_000_000)
    }
  }
  package func countFailed() { values.withLock { $0.failed += 1 } }
  package func countExpired() { values.withLock { $0.expired += 1 } }
  package func countRetried() { values.withLock { $0.retried += 1 } }

  package func set(waiting: Int, unreadable: Int, givenUp: Int) {
    values.withLock {
      $0.waiting = max(waiting, 0)
      $0.unreadable = unreadable
      $0.givenUp = max(givenUp, 0)
    }
  }

  package func setOldest(_ time: Int64?) { values.withLock { $0.oldest = time } }

  /// Forgets the figures of an earlier configuration of the sink.
  package func reset() {
    values.withLock {
      $0.waiting = 0
      $0.oldest = nil
    }
    note(success: true)
    note(unleased: false)
  }

  package func note(success: Bool) {
    values.withLock {
      if success {
        $0.failureTime = nil
        $0.failedBefore = 0
      } else if $0.failureTime == nil {
        $0.failureTime = MonotonicClock.nanoseconds
      }
    }
  }

  /// Continues failures that began so many nanoseconds before the start.
  package func resumeFailing(for nanoseconds: UInt64) {
    values.withLock {
      $0.failedBefore = nanoseconds
      $0.failureTime = MonotonicClock.nanoseconds
    }
  }

  /// Notes whether effects wait without a client that asks to lease them.
  package func note(unleased: Bool) {
    values.withLock { $0.unleasedTime = unleased ? $0.unleasedTime ?? MonotonicClock.nanoseconds : nil }
  }
}

/// Counts deliveries by the second for a minute.
struct DeliveryRate {
  private static let seconds = 60
  private var counts = Array(repeating: (second: UInt64.max, count: 0), count: Self.seconds)

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
