/// A histogram in the sense of Prometheus: counts values in buckets with given upper bounds, and adds the values up.
///
/// `LatencyHistogram` tells quantiles of its own; this one can be summed over processes and time by its reader.
package struct BucketHistogram: Sendable {
  /// The highest value of each bucket but the last, which has no bound; in ascending order.
  package let bounds: [UInt64]
  /// How many values each bucket holds; one more than `bounds`.
  package private(set) var counts: [UInt64]
  package private(set) var sum: UInt64 = 0

  package init(bounds: [UInt64]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  package var total: UInt64 { counts.reduce(0, +) }

  /// Counts a value, `times` times.
  ///
  /// - Complexity: O(buckets up to the value's).
  package mutating func observe(_ value: UInt64, times: UInt64 = 1) {
    var bucket = 0
    while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
    counts[bucket] += times
    sum &+= value &* times
  }

  package mutating func add(_ other: BucketHistogram) {
    precondition(bounds == other.bounds, "only histograms with the same bounds can be added")
    for bucket in counts.indices { counts[bucket] += other.counts[bucket] }
    sum &+= other.sum
  }
}

extension BucketHistogram {
  /// Bounds in nanoseconds for durations from tens of microseconds, on a fast disk, to seconds.
  package static let latencies: [UInt64] = microseconds([
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
  ])

  /// Bounds in nanoseconds for how long rules run: up to the budget of an event.
  package static let runTimes: [UInt64] = microseconds([
    5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
  ])

  /// Bounds for numbers of events.
  package static let numbers: [UInt64] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000]

  package static let sizes: [UInt64] = (0..<9).map { 256 << (2 * $0) }

  private static func microseconds(_ bounds: [UInt64]) -> [UInt64] { bounds.map { $0 * 1000 } }
}
