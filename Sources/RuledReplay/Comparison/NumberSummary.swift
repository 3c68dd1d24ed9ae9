import Glibc
import RuledCore

/// Sum, mean and quantiles of a stream of numbers, in bounded memory.
///
/// Up to `mostDistinct` different numbers are kept as they are, so quantiles are exact. Beyond that, numbers go into buckets whose bounds lie
/// 2 % apart, and a quantile is a bucket's middle: off by 1 % at most.
struct NumberSummary: Sendable {
  /// How many different numbers are kept before they go into buckets.
  static let mostDistinct = 1024
  /// The logarithm of the ratio of a bucket's bounds.
  private static let step = log(1.02)
  /// Numbers closer to zero than this count as zero once buckets are used.
  private static let smallest = 1e-9

  private var exact: [Double: Int] = [:]
  /// The counts by bucket: 0 for zero, positive and negative indices for numbers of either sign.
  private var buckets: [Int: Int] = [:]
  private(set) var count = 0
  /// All numbers, added up and scaled, so that the sum of large ones is finite.
  private var scaledSum = 0.0
  /// A power of two, by which scaling loses nothing.
  private static let scale = 0x1p-64

  mutating func add(_ number: Double, times: Int = 1) {
    count += times
    scaledSum += number * Self.scale * Double(times)
    insert(number, times)
  }

  private mutating func insert(_ number: Double, _ times: Int) {
    guard buckets.isEmpty else {
      buckets[Self.bucket(of: number), default: 0] += times
      return
    }
    exact[number, default: 0] += times
    if exact.count > Self.mostDistinct { useBuckets() }
  }

  mutating func merge(_ other: NumberSummary) {
    count += other.count
    scaledSum += other.scaledSum
    if other.buckets.isEmpty {
      for (number, times) in other.exact { insert(number, times) }
      return
    }
    if buckets.isEmpty { useBuckets() }
    buckets.merge(other.buckets, uniquingKeysWith: +)
  }

  /// The number that a fraction of all does not exceed, by the nearest rank; 0 when there is none.
  func quantile(_ fraction: Double) -> Double {
    let rank = max(1, Int((fraction * Double(count)).rounded(.up)))
    var seen = 0
    if buckets.isEmpty {
      for (number, times) in exact.sorted(by: { $0.key < $1.key }) {
        seen += times
        if seen >= rank { return number }
      }
    }
    for (bucket, times) in buckets.sorted(by: { $0.key < $1.key }) {
      seen += times
      if seen >= rank { return Self.middle(of: bucket) }
    }
    return 0
  }

  /// The summary as `{"sum","mean","p50","p90","p99"}`; whole numbers are integers.
  var json: JSONValue {
    [
      "sum": .shortest(sum), "mean": .shortest(mean), "p50": .shortest(quantile(0.5)),
      "p90": .shortest(quantile(0.9)), "p99": .shortest(quantile(0.99)),
    ]
  }

  /// All numbers, added up; the largest float where the sum would be larger.
  var sum: Double { Self.finite(scaledSum / Self.scale) }

  /// The mean; 0 when there is no number.
  private var mean: Double { count == 0 ? 0 : Self.finite(scaledSum / Double(count) / Self.scale) }

  private static func finite(_ number: Double) -> Double {
    max(-.greatestFiniteMagnitude, min(.greatestFiniteMagnitude, number))
  }

  // MARK: Buckets

  private mutating func useBuckets() {
    for (number, times) in exact { buckets[Self.bucket(of: number), default: 0] += times }
    // An empty summary that is told to use buckets has to remember it.
    if buckets.isEmpty { buckets[0] = 0 }
    exact.removeAll()
  }

  private static func bucket(of number: Double) -> Int {
    let size = abs(number)
    guard size >= smallest, size.isFinite else { return 0 }
    let index = Int(((log(size) - log(smallest)) / step).rounded(.down)) + 1
    return number < 0 ? -index : index
  }

  private static func middle(of bucket: Int) -> Double {
    guard bucket != 0 else { return 0 }
    let size = finite(exp(log(smallest) + (Double(abs(bucket)) - 0.5) * step))
    return bucket < 0 ? -size : size
  }
}
