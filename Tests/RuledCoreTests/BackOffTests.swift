import RuledCore
import Testing

/// Trying again what is worth it at times.
struct BackOffTests {
  /// How many turns in a row are passed over.
  private func passed(_ backOff: inout BackOff) -> Int {
    var count = 0
    while !backOff.isNext() { count += 1 }
    return count
  }

  @Test func `the more often it was of no use the more turns are passed over`() {
    var backOff = BackOff(first: 4, most: 256)
    #expect(passed(&backOff) == 0)
    let pauses = (0..<10).map { _ in
      backOff.failed()
      return passed(&backOff)
    }
    #expect(pauses == pauses.sorted() && pauses[0] > 0 && pauses[9] < 256 && pauses[9] == pauses[8])
    for _ in 0..<10 { backOff.succeeded() }
    backOff.failed()
    #expect(passed(&backOff) == pauses[0])
  }
}
