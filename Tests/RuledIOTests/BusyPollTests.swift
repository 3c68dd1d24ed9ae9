import Glibc
import Testing

@testable import RuledIO

/// Polling for input before sleeping.
struct BusyPollTests {
  /// For how many sleeps in a row polling is skipped.
  private func skipped(_ busyPoll: inout BusyPoll) -> Int {
    var count = 0
    while !busyPoll.isNext() { count += 1 }
    return count
  }

  @Test func `input that is there ends a poll, and after a fruitless one polling is skipped for some sleeps`() {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    var busyPoll = BusyPoll()
    busyPoll.poll(ends[0])
    #expect(skipped(&busyPoll) > 0)
    #expect(write(ends[1], "x", 1) == 1)
    busyPoll.poll(ends[0])
    #expect(skipped(&busyPoll) == 0)
  }
}
