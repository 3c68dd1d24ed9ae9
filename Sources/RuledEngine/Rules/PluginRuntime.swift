package import RuledCore
import Synchronization

/// What is measured of a plugin while it serves, over all workers, and whether it is suspended.
///
/// It lives as long as the plugin's sources stay the same; a reload that changes the plugin begins anew.
package final class PluginRuntime: Sendable {
  private let runCount = Atomic<Int>(0)
  private let failureCount = Atomic<Int>(0)
  private let stopsInARow = Atomic<Int>(0)
  private let suspended = Atomic<Bool>(false)
  /// Four buckets for each doubling: one plugin takes 2 KiB.
  private let latency = Mutex(LatencyHistogram(precision: 2))

  /// A plugin that has not run yet.
  package init() {}

  /// How often it saw an event.
  package var runs: Int { runCount.load(ordering: .relaxed) }
  /// How often it failed on one.
  package var failures: Int { failureCount.load(ordering: .relaxed) }
  /// Whether its events are parked without running it.
  package var isSuspended: Bool { suspended.load(ordering: .relaxed) }

  /// Notes that it handled an event.
  package func succeeded() {
    runCount.wrappingAdd(1, ordering: .relaxed)
    if stopsInARow.load(ordering: .relaxed) != 0 { stopsInARow.store(0, ordering: .relaxed) }
  }

  /// Notes that it failed; answers true when this failure suspends it.
  package func failed(_ kind: Failure.Kind) -> Bool {
    runCount.wrappingAdd(1, ordering: .relaxed)
    failureCount.wrappingAdd(1, ordering: .relaxed)
    guard kind.isStop else {
      stopsInARow.store(0, ordering: .relaxed)
      return false
    }
    let stops = stopsInARow.wrappingAdd(1, ordering: .relaxed).newValue
    guard stops >= Limits.stopsBeforeSuspension else { return false }
    return !suspended.exchange(true, ordering: .relaxed)
  }

  /// Lets the plugin run again.
  package func resume() {
    stopsInARow.store(0, ordering: .relaxed)
    suspended.store(false, ordering: .relaxed)
  }

  /// Notes how long an event took, in nanoseconds.
  package func took(_ nanoseconds: UInt64) { latency.withLock { $0.record(nanoseconds) } }

  /// The time that `share` of the events, 0 to 1, did not exceed, in microseconds; 0 when nothing ran.
  package func percentile(_ share: Double) -> Double { Double(latency.withLock { $0.quantile(share) }) / 1000 }
}
