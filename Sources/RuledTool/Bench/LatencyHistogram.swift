/// Counts times by their length, with an error of at most one part in 128 from nanoseconds to minutes.
///
/// A power of two is cut into 128 steps of equal width, so that counting is a shift and an addition.
package struct LatencyHistogram: Sendable {
  private static let fineBits = 8
  private var counts = [UInt64](repeating: 0, count: (64 - fineBits + 2) << (fineBits - 1))
  /// How many times were counted.
  package private(set) var total: UInt64 = 0
  /// The longest time, in nanoseconds.
  package private(set) var longest: UInt64 = 0

  /// A histogram that counted nothing.
  package init() {}

  /// Counts a time given in nanoseconds.
  ///
  /// - Complexity: O(1).
  package mutating func record(_ nanoseconds: UInt64) {
    counts[Self.index(of: nanoseconds)] += 1
    total += 1
    longest = max(longest, nanoseconds)
  }

  /// The time, in nanoseconds, that this share of all times does not exceed; 0 when none was counted.
  ///
  /// - Parameter share: From 0 to 1.
  /// - Returns: Nanoseconds.
  /// - Complexity: O(buckets), a few thousand.
  package func quantile(_ share: Double) -> UInt64 {
    let rank = UInt64(share * Double(total))
    var seen: UInt64 = 0
    for (index, count) in counts.enumerated() where count > 0 {
      seen += count
      if seen > rank { return min(Self.upperBound(of: index), longest) }
    }
    return longest
  }

  /// How many times lie in each power of two of microseconds: `(upper bound in microseconds, count)`, from the first
  /// band that holds one to the last.
  ///
  /// - Complexity: O(buckets).
  package func bands() -> [(upTo: Double, count: UInt64)] {
    var bands: [UInt64] = Array(repeating: 0, count: 64)
    for (index, count) in counts.enumerated() where count > 0 {
      let micros = (Self.upperBound(of: index) + 999) / 1000
      bands[micros <= 1 ? 0 : 64 - (micros - 1).leadingZeroBitCount] += count
    }
    guard let first = bands.firstIndex(where: { $0 > 0 }), let last = bands.lastIndex(where: { $0 > 0 }) else {
      return []
    }
    return (first...last).map { (upTo: Double(UInt64(1) << UInt64($0)), count: bands[$0]) }
  }

  private static func index(of value: UInt64) -> Int {
    guard value >= 1 << fineBits else { return Int(value) }
    let shift = 64 - value.leadingZeroBitCount - fineBits
    return shift << (fineBits - 1) + Int(value >> UInt64(shift))
  }

  private static func upperBound(of index: Int) -> UInt64 {
    guard index >= 1 << fineBits else { return UInt64(index) }
    let shift = index >> (fineBits - 1) - 1
    let fine = UInt64(index - shift << (fineBits - 1))
    return (fine + 1) << UInt64(shift) - 1
  }
}
