import Testing

@testable import RuledServing

@Suite struct StoreMetricTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func `a store that opens again after each failure is down until a minute has passed without one`() {
    let status = DaemonStatus()
    let start = 100 * Self.second
    #expect(status.storeStaysWell(now: start))
    status.store("no space left", now: start)
    #expect(!status.storeStaysWell(now: start + 3_600 * Self.second), "it is not open again")
    status.store(nil, now: start)
    #expect(status.storeIsWell && !status.storeStaysWell(now: start + 59 * Self.second))
    status.store("no space left", now: start + 59 * Self.second)
    status.store(nil, now: start + 59 * Self.second)
    #expect(!status.storeStaysWell(now: start + 60 * Self.second))
    #expect(status.storeStaysWell(now: start + 119 * Self.second))
  }
}
