import RuledCore
import RuledEngine
import RuledJSON
import Testing

@testable import RuledServer

@Suite struct LoadHistoryTests {
  private static func totals(events: Int, runs: Int, failures: Int = 0, took: [UInt64] = []) -> LoadTotals {
    var totals = LoadTotals()
    totals.events = events
    var durations = LatencyHistogram(precision: PluginRuntime.precision)
    for nanoseconds in took { durations.record(nanoseconds) }
    totals.plugins["p"] = .init(runs: runs, failures: failures, durations: durations)
    return totals
  }

  @Test func `a sample is what was counted since the one before`() {
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
