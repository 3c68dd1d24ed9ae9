import RuledCore
import Testing

@Suite struct BucketHistogramTests {
  @Test func `a value belongs to the first bucket whose bound it does not exceed`() {
    var histogram = BucketHistogram(bounds: [10, 20])
    for value in [0, 10, 11, 20, 21, 1_000] as [UInt64] { histogram.observe(value) }
    histogram.observe(15, times: 3)
    #expect(histogram.counts == [2, 5, 2] && histogram.total == 9 && histogram.sum == 1_107)
  }

  @Test func `histograms with the same bounds add up`() {
    var one = BucketHistogram(bounds: [1]), other = one
    one.observe(1)
    other.observe(2, times: 2)
    one.add(other)
    #expect(one.counts == [1, 2] && one.sum == 5)
  }

  @Test(arguments: [
    BucketHistogram.latencies, BucketHistogram.runTimes, BucketHistogram.numbers, BucketHistogram.sizes,
  ])
  func `the bounds ascend`(_ bounds: [UInt64]) {
    #expect(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 })
  }
}
