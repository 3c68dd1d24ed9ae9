import RuledCore
import Testing

struct LatencyHistogramTests {
  @Test(arguments: [2, 7]) func `A quantile differs from the exact one by half a bucket at most`(precision: Int) {
    var generator = SystemRandomNumberGenerator()
    let error = 1 / Double(2 << precision)
    for _ in 0..<20 {
      var histogram = LatencyHistogram(precision: precision)
      var values: [UInt64] = []
      for _ in 0..<1000 {
        let value = UInt64.random(in: 0...UInt64.max, using: &generator) >> UInt64.random(in: 4...63, using: &generator)
        values.append(value)
        histogram.observe(value)
      }
      values.sort()
      for share in [0.0, 0.5, 0.9, 0.99, 0.999] {
        let exact = Double(values[max(Int(share * 1000), 1) - 1])
        let found = Double(histogram.quantile(share))
        #expect(abs(found - exact) <= exact * error + 1, "\(share): \(found) instead of \(exact)")
      }
      #expect(histogram.quantile(1) == values.last)
      #expect(histogram.total == 1000)
    }
  }

  @Test func `Bands are powers of two of microseconds without gaps and hold every time`() {
    var histogram = LatencyHistogram()
    for time in [900, 3000, 3000, 100_000] as [UInt64] { histogram.observe(time) }
    let bands = histogram.bands()
    #expect(bands.map(\.upTo) == [1, 2, 4, 8, 16, 32, 64, 128])
    #expect(bands.map(\.count) == [1, 0, 2, 0, 0, 0, 0, 1])
  }

  @Test func `Nothing counted has no quantile and no bands`() {
    let histogram = LatencyHistogram()
    #expect(histogram.quantile(0.99) == 0)
    #expect(histogram.bands().isEmpty)
  }

  @Test func `Few durations have quantiles, too`() {
    var histogram = LatencyHistogram()
    histogram.observe(40)
    #expect([0, 0.5, 0.99, 1].map(histogram.quantile) == [40, 40, 40, 40])
    histogram.observe(UInt64.max)
    #expect([0, 0.5, 0.99, 1].map(histogram.quantile) == [40, 40, UInt64.max, UInt64.max])
  }
}
