import RuledCore
import Testing

/// Trying again what failed or was in vain.
struct BackoffTests {
  @Test func `a delay doubles with each failure and stays within its bounds`() {
    let backoff = Backoff(first: 1_000, longest: 300_000)
    for failures in 1...40 {
      let doubled: UInt64 = min(1_000 << UInt64(min(failures - 1, 20)), 300_000)
      for _ in 0..<100 {
        #expect((doubled - doubled / 4...doubled).contains(backoff.delay(after: failures)))
      }
    }
  }

  @Test func `delays of many who failed together differ, the longest too`() {
    let backoff = Backoff(first: 1_000, longest: 300_000)
    for failures in [1, 5, 9, 10, 40, .max] {
      #expect(Set((0..<100).map { _ in backoff.delay(after: failures) }).count > 10, "\(failures)")
    }
  }

  @Test func `a delay of nothing and a bound below the first delay are taken as they are`() {
    #expect(Backoff(first: 0, longest: 0).delay(after: 3) == 0)
    #expect((75...100).contains(Backoff(first: 1_000, longest: 100).delay(after: 1)))
  }

  /// How many attempts in a row are skipped.
  private func skipped(_ attempts: inout AttemptSkipper) -> Int {
    var count = 0
    while !attempts.shouldTry() { count += 1 }
    return count
  }

  @Test func `the more attempts were in vain the more are skipped`() {
    var attempts = AttemptSkipper(fewest: 4, most: 256)
    #expect(skipped(&attempts) == 0)
    let skips = (0..<10).map { _ in
      attempts.noteFailure()
      return skipped(&attempts)
    }
    #expect(skips == skips.sorted() && skips[0] > 0 && skips[9] < 256 && skips[9] == skips[8])
    for _ in 0..<10 { attempts.noteSuccess() }
    attempts.noteFailure()
    #expect(skipped(&attempts) == skips[0])
  }
}
