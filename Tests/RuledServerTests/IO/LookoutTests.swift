import Glibc
import Testing

@testable import RuledServer

/// Looking for input before sleeping.
struct LookoutTests {
  /// How many waits in a row are slept through at once.
  private func slept(_ lookout: inout Lookout) -> Int {
    var count = 0
    while !lookout.isNext() { count += 1 }
    return count
  }

  @Test func `input that is there ends the look, and none is a failure`() {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    var lookout = Lookout()
    lookout.look(at: ends[0])
    #expect(slept(&lookout) > 0)
    #expect(write(ends[1], "x", 1) == 1)
    lookout.look(at: ends[0])
    #expect(slept(&lookout) == 0)
  }
}
