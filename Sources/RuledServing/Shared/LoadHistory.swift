import RuledCore
import RuledEngine
import Synchronization

/// The daemon's load over the last hour: counts for each second of the last 5 minutes, and for each 10 seconds of the hour.
///
/// The control thread takes a sample each second, off the path of an event. Memory is bounded: two rings of fixed length.
final class LoadHistory: Sendable {
  /// How often `sample` is called, in milliseconds.
  static let period: UInt64 = 1_000

  private let series = Mutex([LoadSeries(seconds: 1, length: 300), LoadSeries(seconds: 10, length: 360)])

  /// Takes the sample of a second, which ends at that time of the wall clock.
  func sample(_ totals: LoadTotals, at time: Timestamp) {
    series.withLock { series in
      for index in series.indices { series[index].add(totals, at: time) }
    }
  }

  /// The result of `samples`.
  var json: JSONValue { ["series": .array(series.withLock { $0.map(\.json) })] }
}

/// The daemon's counts since its start, at one moment.
struct LoadTotals {
  /// The counts of one plugin since its sources changed.
  struct Plugin {
    /// The events that it has handled.
    var runs: Int
    var failures: Int
    /// The durations of its measured runs.
    var durations: LatencyHistogram
  }

  /// The events that clients sent.
  var events = 0
  var plugins: [String: Plugin] = [:]
  var latency = BucketHistogram(bounds: BucketHistogram.latencies)
  /// Committed messages that are not applied yet.
  var messages = 0
  /// Effects that wait for their delivery.
  var effects = 0
}

/// Samples of equal periods, the last ones.
struct LoadSeries {
  /// The figures of a sample, in their order.
  ///
  /// The times are quantiles in microseconds, of the events' latency and of the measured runs; null without any.
  private static let figures = [
    "events", "runs", "failures", "messages", "effects", "event_p50_us", "event_p99_us", "run_p50_us", "run_p99_us",
  ]

  private let seconds: Int
  private let length: Int
  private var before: LoadTotals?
  private var ticks = 0
  private var samples: [[JSONValue]] = []
  private var oldest = 0
  private var end = Timestamp(microseconds: 0)

  init(seconds: Int, length: Int) {
    self.seconds = seconds
    self.length = length
  }

  /// Takes the totals of a second; each `seconds` of them make a sample.
  mutating func add(_ totals: LoadTotals, at time: Timestamp) {
    guard let before else {
      before = totals
      return
    }
    ticks += 1
    guard ticks == seconds else { return }
    ticks = 0
    let sample = Self.sample(from: before, to: totals)
    if samples.count < length {
      samples.append(sample)
    } else {
      samples[oldest] = sample
      oldest = (oldest + 1) % length
    }
    self.before = totals
    end = time
  }

  private static func sample(from before: LoadTotals, to after: LoadTotals) -> [JSONValue] {
    var (runs, failures) = (0, 0)
    var durations = LatencyHistogram(precision: PluginRuntime.precision)
    for (name, plugin) in after.plugins {
      // A plugin that a reload changed counts from 0 again.
      let earlier = before.plugins[name].flatMap { $0.runs <= plugin.runs ? $0 : nil }
      runs += plugin.runs - (earlier?.runs ?? 0)
      failures += max(0, plugin.failures - (earlier?.failures ?? 0))
      durations.add(plugin.durations, since: earlier?.durations)
    }
    let counts = [after.events - before.events, runs, failures, after.messages, after.effects]
    let latencies = [0.5, 0.99].map { after.latency.quantile($0, since: before.latency) }
    let times = latencies + [0.5, 0.99].map { durations.total > 0 ? Double(durations.quantile($0)) : nil }
    return counts.map { .integer(Int64($0)) }
      + times.map { $0.map { .number(($0 / 1000 * 10).rounded() / 10) } ?? .null }
  }

  /// The samples in order of time, one array for each figure.
  var json: JSONValue {
    let ordered = samples[oldest...] + samples[..<oldest]
    var members: JSONObject = [
      "period_s": .integer(Int64(seconds)), "end": samples.isEmpty ? .null : .string(end.rfc3339),
    ]
    for (index, figure) in Self.figures.enumerated() { members[figure] = .array(ordered.map { $0[index] }) }
    return .object(members)
  }
}

extension BucketHistogram {
  /// The quantile `fraction`, 0 to 1, of the values counted since an earlier state; nil if there are none.
  ///
  /// Interpolates within the bucket, as Prometheus does; the last bucket counts as its lower bound.
  fileprivate func quantile(_ fraction: Double, since earlier: BucketHistogram) -> Double? {
    let new = zip(counts, earlier.counts).map { $0 > $1 ? $0 - $1 : 0 }
    let total = new.reduce(0, +)
    guard total > 0 else { return nil }
    let rank = fraction * Double(total)
    var before: UInt64 = 0
    for (bucket, count) in new.enumerated() where count > 0 {
      defer { before += count }
      guard Double(before + count) >= rank else { continue }
      let lower = bucket > 0 ? Double(bounds[bucket - 1]) : 0
      guard bucket < bounds.count else { return lower }
      return lower + (Double(bounds[bucket]) - lower) * max(0, rank - Double(before)) / Double(count)
    }
    return bounds.last.map { Double($0) }
  }
}
