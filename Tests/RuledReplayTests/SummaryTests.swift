import RuledCore
import Testing

@testable import RuledReplay

@Suite struct SummaryTests {
  @Test func `quantiles of many different numbers are off by one per cent at most`() {
    var summary = NumberSummary()
    for number in 1...100_000 { summary.add(Double(number)) }
    for (share, exact) in [(0.5, 50_000.0), (0.9, 90_000), (0.99, 99_000)] {
      #expect(abs(summary.quantile(share) - exact) <= exact / 100)
    }
    #expect(summary.sum == 5_000_050_000)
  }

  @Test func `negative numbers, zeros and numbers of all sizes keep their order`() {
    var summary = NumberSummary()
    for number in 1...3000 { for sign in [-1.0, 1.0] { summary.add(sign * Double(number) * 1e6) } }
    for _ in 1...100 { summary.add(0) }
    #expect(summary.quantile(0.5) == 0)
    #expect(summary.quantile(0.01) < -2.9e9)
    #expect(summary.quantile(0.99) > 2.9e9)
  }

  @Test func `numbers whose sum no float can hold have a sum, a mean and quantiles nevertheless`() {
    var few = NumberSummary(), many = NumberSummary()
    for number in [1e308, 1.5e308, -1e307] { few.add(number, times: 2) }
    for number in 1...2000 { many.add(Double(number) * 8e304) }
    for (summary, mean) in [(few, 8e307), (many, 8e304 * 1000.5)] {
      #expect(summary.sum == .greatestFiniteMagnitude && summary.json["sum"]?.doubleValue == summary.sum)
      #expect(abs((summary.json["mean"]?.doubleValue ?? 0) / mean - 1) < 0.01)
    }
    #expect(few.json["p99"] == .number(1.5e308) && abs(many.quantile(0.99) / (8e304 * 1980) - 1) <= 0.01)
    few.merge(many)
    #expect(few.json["p50"] != .null && few.sum == .greatestFiniteMagnitude)
  }

  @Test func `summaries are merged whether they are exact or not`() {
    var (few, many, all) = (NumberSummary(), NumberSummary(), NumberSummary())
    for number in 1...10 { few.add(Double(number)) }
    for number in 1...5000 { many.add(Double(number)) }
    for number in Array(1...10) + Array(1...5000) { all.add(Double(number)) }
    few.merge(many)
    #expect(few.json == all.json)
  }

  @Test func `the commonest things keep their counts when there are many`() {
    var counts = CommonCounts<Int, Void>(capacity: 16)
    for number in 0..<10_000 {
      counts.add(number)
      counts.add(-1)
      if number % 2 == 0 { counts.add(-2) }
    }
    #expect(counts.top(2).map { $0.thing } == [-1, -2])
    #expect(counts.top(2).map { $0.count } == [10_000, 5_000])
    #expect(counts.top(.max).count < 32)
  }
}

@Suite struct FailConditionTests {
  @Test(arguments: [
    ("changed > 1%", 0.01, true), ("failures>0", 0, false), ("effects > 0.5", 0.5, true),
    ("instructions > 100", 100, false),
    ("  changed  >  2.5 % ", 0.025, true),
  ])
  func `a condition is a measure and a fraction or a count`(text: String, limit: Double, isFraction: Bool) throws {
    let condition = try FailCondition(text)
    #expect(condition.limit == limit)
    #expect(condition.isFraction == isFraction)
  }

  @Test(arguments: [
    "", "changed", "changed >", "changed < 1%", "speed > 1%", "changed > -1", "changed > 1e3", "changed > x%",
  ])
  func `anything else is refused with what a condition may be`(text: String) throws {
    let error = #expect(throws: UsageError.self) { try FailCondition(text) }
    #expect(error?.message.contains(FailCondition.grammar) == true)
  }
}
