import RuledCore
import RuledEngine
import RuledJSON
import Testing

@testable import RuledServing

@Suite struct LoadHistoryTests {
  private static func totals(events: Int, runs: Int, failures: Int = 0, took: [UInt64] = []) -> LoadTotals {
    var totals = LoadTotals()
    totals.events = events
    var durations = LatencyHistogram(precision: PluginRuntime.precision)
    for nanoseconds in took { durations.observe(nanoseconds) }
    totals.plugins["p"] = .init(runs: runs, failures: failures, durations: durations)
    return totals
  }

  @Test func `a sample has the counts since the one before`() {
    var series = LoadSeries(seconds: 1, length: 3)
    series.add(Self.totals(events: 10, runs: 5, took: [1000]), at: Timestamp(microseconds: 0))
    #expect(series.json["events"] == [] && series.json["end"] == .null)
    series.add(
      Self.totals(events: 13, runs: 9, failures: 1, took: [1000, 64_000]), at: Timestamp(microseconds: 1_000_000))
    series.add(
      Self.totals(events: 13, runs: 9, failures: 1, took: [1000, 64_000]), at: Timestamp(microseconds: 2_000_000))
    #expect(series.json["events"] == [3, 0] && series.json["runs"] == [4, 0] && series.json["failures"] == [1, 0])
    #expect(series.json["run_p99_us"]?[1] == .null)
    let measured = series.json["run_p50_us"]?[0]?.doubleValue ?? 0
    #expect((56...72).contains(measured))
    #expect(series.json["end"] == "1970-01-01T00:00:02.000Z")
  }

  /// The totals after events with these latencies in microseconds.
  private static func totals(latencies: [Double]) -> LoadTotals {
    var totals = LoadTotals()
    totals.events = latencies.count
    for latency in latencies { totals.latency.observe(UInt64(latency * 1000)) }
    return totals
  }

  @Test func `quantiles of the latency are interpolated within a bucket, over the events of the sample`() throws {
    let bounds = BucketHistogram.latencies.map { Double($0) / 1000 }
    let (lower, upper) = (bounds[2], bounds[3])
    var series = LoadSeries(seconds: 1, length: 3)
    series.add(Self.totals(latencies: [upper * 100]), at: Timestamp(microseconds: 0))
    let within = Array(repeating: (lower + upper) / 2, count: 100)
    series.add(Self.totals(latencies: [upper * 100] + within), at: Timestamp(microseconds: 1))
    let p50 = try #require(series.json["event_p50_us"]?[0]?.doubleValue)
    let p99 = try #require(series.json["event_p99_us"]?[0]?.doubleValue)
    #expect(abs(p50 - (lower + upper) / 2) <= 0.1)
    #expect(abs(p99 - (lower + (upper - lower) * 0.99)) <= 0.1)
  }

  @Test func `the first bucket begins at zero, and beyond the last one its bound counts`() throws {
    let bounds = BucketHistogram.latencies.map { Double($0) / 1000 }
    var series = LoadSeries(seconds: 1, length: 3)
    series.add(Self.totals(latencies: []), at: Timestamp(microseconds: 0))
    let shortest = Self.totals(latencies: [0, 0])
    series.add(shortest, at: Timestamp(microseconds: 1))
    #expect(abs((series.json["event_p50_us"]?[0]?.doubleValue ?? 0) - bounds[0] / 2) <= 0.1)
    series.add(shortest, at: Timestamp(microseconds: 2))
    #expect(series.json["event_p50_us"]?[1] == .null && series.json["event_p99_us"]?[1] == .null)
    let last = try #require(bounds.last)
    series.add(Self.totals(latencies: [0, 0, last * 3]), at: Timestamp(microseconds: 3))
    #expect(series.json["event_p99_us"]?[2]?.doubleValue == last)
  }

  @Test func `a plugin that was reloaded counts from zero`() {
    var series = LoadSeries(seconds: 1, length: 3)
    series.add(Self.totals(events: 0, runs: 100, failures: 50, took: [1000, 1000]), at: Timestamp(microseconds: 0))
    series.add(Self.totals(events: 2, runs: 2, failures: 1, took: [1000]), at: Timestamp(microseconds: 1))
    #expect(series.json["runs"] == [2] && series.json["failures"] == [1])
  }

  @Test func `a series holds the last samples, in order`() {
    var series = LoadSeries(seconds: 2, length: 3)
    for second in 0...10 {
      series.add(Self.totals(events: second * second, runs: 0), at: Timestamp(microseconds: Int64(second)))
    }
    #expect(series.json["events"] == [20, 28, 36])
  }
}
