package import RuledCore
import Synchronization

/// The measurements of a plugin over all workers, whether it is suspended, and which subjects are put off.
///
/// It lasts as long as the plugin's sources are the same; a reload that changes the plugin starts a new one.
package final class PluginRuntime: Sendable {
  private let runCount = Atomic<Int>(0)
  private let failureCount = Atomic<Int>(0)
  private let stopped = Mutex(StoppedSubjects())
  /// The filter of `stopped`: an event whose bit is not set needs no look at it.
  private let stoppedFilter = Atomic<UInt64>(0)
  private let times = Mutex(Times())
  private let failuresByCause = Mutex<[Cause: Int]>([:])

  private struct Times {
    /// Four buckets for each doubling: one plugin takes 2 KiB.
    var quantiles = LatencyHistogram(precision: PluginRuntime.precision)
    var buckets = BucketHistogram(bounds: BucketHistogram.runTimes)
  }

  package struct Cause: Sendable, Hashable {
    /// The rule's name; empty if the failure was not in a rule.
    package let rule: String
    package let kind: Failure.Kind
  }
  /// The precision of `durations`.
  package static let precision = 2

  /// How many events it saw.
  package var runs: Int { runCount.load(ordering: .relaxed) }
  package var failures: Int { failureCount.load(ordering: .relaxed) }
  /// Whether its events are parked without running its rules.
  package var isSuspended: Bool { stoppedFilter.load(ordering: .relaxed) == .max && stopped.withLock(\.isSuspended) }

  /// Whether it was stopped on the last event of some subject, or is suspended.
  package var hasStopped: Bool { stoppedFilter.load(ordering: .relaxed) != 0 }

  /// Why a subject's events are parked without running its rules.
  enum Obstacle {
    case suspended
    /// The subject is put off, for so many microseconds more.
    case putOff(Int64)

    var message: String {
      switch self {
      case .suspended:
        "the plugin is suspended, as events of many subjects were stopped and took much of the workers' time; "
          + "reload it or retry its events"
      case .putOff:
        "the plugin is put off for this subject, as its events were stopped three times in a row; "
          + "reload the plugin or retry its events"
      }
    }

    /// Why a rule did not fire.
    var reason: String {
      switch self {
      case .suspended: "the plugin is suspended; reload it or retry its events"
      case .putOff(let wait):
        "the plugin is put off for this subject, for \(wait / Limits.second) s more; reload it or retry its events"
      }
    }
  }

  /// Why the plugin must not run on an event of the subject; nil if it may.
  func obstacle(to subject: Subject) -> Obstacle? {
    guard stoppedFilter.load(ordering: .relaxed) & StoppedSubjects.bit(subject.hash) != 0 else { return nil }
    return stopped.withLock { stopped in
      if stopped.isSuspended { return .suspended }
      return stopped.wait(of: Array(subject.name), at: Self.now).map { .putOff($0) }
    }
  }

  /// The subjects that are put off, with the microseconds that are left, in order of name.
  package var putOff: [(subject: [UInt8], wait: Int64)] {
    hasStopped ? stopped.withLock { $0.putOff(at: Self.now) } : []
  }

  private static var now: Int64 { Int64(EngineClock.monotonic / 1_000) }

  func noteSuccess() { runCount.wrappingAdd(1, ordering: .relaxed) }

  /// Forgets that it was stopped on events of the subject, as it was not on the last one.
  func forgetStops(on subject: Subject) {
    guard stoppedFilter.load(ordering: .relaxed) & StoppedSubjects.bit(subject.hash) != 0 else { return }
    stopped.withLock { stopped in
      if stopped.noteRun(of: Array(subject.name)) { stoppedFilter.store(stopped.filter, ordering: .relaxed) }
    }
  }

  /// Notes that it failed on an event of the subject, which took so much processor time, in microseconds, on one of so many workers.
  func noteFailure(
    _ failure: Failure, on subject: Subject, after time: Int64, workers: Int
  ) -> StoppedSubjects.Consequence? {
    runCount.wrappingAdd(1, ordering: .relaxed)
    failureCount.wrappingAdd(1, ordering: .relaxed)
    failuresByCause.withLock { $0[Cause(rule: failure.rule ?? "", kind: failure.kind), default: 0] += 1 }
    guard failure.kind.isStop else {
      forgetStops(on: subject)
      return nil
    }
    return changeStopped {
      $0.noteStop(of: Array(subject.name), hash: subject.hash, took: time, workers: workers, at: Self.now)
    }
  }

  @discardableResult
  private func changeStopped<Result>(_ body: (inout StoppedSubjects) -> Result) -> Result {
    stopped.withLock { stopped in
      defer { stoppedFilter.store(stopped.filter, ordering: .relaxed) }
      return body(&stopped)
    }
  }

  /// Suspends it, as stopped events of many subjects do.
  package func suspend() { changeStopped { $0.isSuspended = true } }

  /// Lets the plugin run again, on the events of all subjects.
  package func resume() { changeStopped { $0 = StoppedSubjects() } }

  /// How many events each rule failed on, in which way.
  package var causes: [Cause: Int] { failuresByCause.withLock { $0 } }

  /// Notes how long an event took, in nanoseconds.
  func took(_ nanoseconds: UInt64) {
    times.withLock { times in
      times.quantiles.observe(nanoseconds)
      times.buckets.observe(nanoseconds)
    }
  }

  /// How long the measured events took, in nanoseconds.
  package var runTimes: BucketHistogram { times.withLock { $0.buckets } }

  package var durations: LatencyHistogram { times.withLock { $0.quantiles } }

  /// The time in microseconds that a share of the events, 0 to 1, did not exceed; 0 before the first event.
  package func percentile(_ share: Double) -> Double { Double(times.withLock { $0.quantiles.quantile(share) }) / 1000 }
}
