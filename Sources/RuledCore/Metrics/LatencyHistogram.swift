/// Counts durations in buckets whose width grows with the duration, from 1 ns up to any length.
///
/// Each power of two is cut into `2^precision` buckets of equal width, as in HdrHistogram, so that counting is a shift
/// and an addition. A bucket's middle differs from the durations in it by at most one part in `2^(precision + 1)`.
package struct LatencyHistogram: Sendable {
  private let precision: Int
  private var counts: [UInt64]
  package private(set) var total: UInt64 = 0
  /// The longest duration, in nanoseconds.
  package private(set) var longest: UInt64 = 0

  /// An empty histogram.
  ///
  /// - Parameter precision: Each power of two is cut into `2^precision` buckets. With 7, quantiles are off by at most
  ///   0.4 % and the buckets take 58 KiB; with 2, by at most 12.5 % and 2 KiB.
  package init(precision: Int = 7) {
    self.precision = precision
    counts = Array(repeating: 0, count: (65 - precision) << precision)
  }

  package mutating func observe(_ nanoseconds: UInt64) {
    counts[index(of: nanoseconds)] += 1
    total += 1
    longest = max(longest, nanoseconds)
  }

  /// Adds the counts of another histogram of the same precision since an earlier state of it.
  ///
  /// `longest` becomes the end of the highest bucket that counted, as the earlier state does not tell the exact one.
  ///
  /// - Complexity: O(buckets).
  package mutating func add(_ other: LatencyHistogram, since earlier: LatencyHistogram?) {
    precondition(precision == other.precision)
    for (index, count) in other.counts.enumerated() {
      let before = earlier?.counts[index] ?? 0
      guard count > before else { continue }
      counts[index] += count - before
      total += count - before
      longest = max(longest, min(bounds(of: index).upperBound, other.longest))
    }
  }

  /// The shortest duration that this fraction of all durations does not exceed, in nanoseconds.
  ///
  /// The rank is rounded up: the median of two durations is the first. The last rank gives the exact `longest`, any
  /// other one the middle of its bucket.
  ///
  /// - Parameter fraction: From 0 to 1.
  /// - Returns: Nanoseconds; 0 when nothing was counted.
  /// - Complexity: O(buckets), which are 7,424 with the default precision.
  package func quantile(_ fraction: Double) -> UInt64 {
    let rank = max(1, UInt64((fraction * Double(total)).rounded(.up)))
    guard rank < total else { return longest }
    var remaining = rank
    for (index, count) in counts.enumerated() where count > 0 {
      if remaining <= count {
        let bucket = bounds(of: index)
        return min(bucket.lowerBound + (bucket.upperBound - bucket.lowerBound + 1) / 2, longest)
      }
      remaining -= count
    }
    return longest
  }

  /// How many durations each power of two of microseconds holds: `(upper bound in microseconds, count)`, from the first
  /// band that holds one to the last.
  ///
  /// - Complexity: O(buckets).
  package func bands() -> [(upTo: Double, count: UInt64)] {
    var bands: [UInt64] = Array(repeating: 0, count: 64)
    for (index, count) in counts.enumerated() where count > 0 {
      let (whole, fraction) = bounds(of: index).upperBound.quotientAndRemainder(dividingBy: 1000)
      let micros = max(1, whole + (fraction > 0 ? 1 : 0))
      bands[64 - (micros - 1).leadingZeroBitCount] += count
    }
    guard let first = bands.firstIndex(where: { $0 > 0 }), let last = bands.lastIndex(where: { $0 > 0 }) else {
      return []
    }
    return (first...last).map { (upTo: Double(UInt64(1) << UInt64($0)), count: bands[$0]) }
  }

  private func index(of value: UInt64) -> Int {
    let bits = 64 - value.leadingZeroBitCount
    guard bits > precision + 1 else { return Int(value) }
    let shift = bits - precision - 1
    return shift << precision + Int(value >> UInt64(shift))
  }

  private func bounds(of index: Int) -> ClosedRange<UInt64> {
    let shift = max(index >> precision - 1, 0)
    let first = UInt64(index - shift << precision) << UInt64(shift)
    return first...(first + (1 << UInt64(shift) - 1))
  }
}
