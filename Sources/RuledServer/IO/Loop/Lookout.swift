internal import CUV
internal import Glibc

/// A loop that looks for input by itself for a moment before it sleeps, where input has come so soon of late.
///
/// To be woken takes the kernel longer than a client with one request in flight needs for its next. When nothing came in time, the next waits are slept
/// through at once, the more of them the more often that happens; so what it costs where it is of no use is next to nothing.
struct Lookout {
  /// How many nanoseconds it looks out.
  private static let most: UInt64 = 100_000
  /// How many waits are slept through at most until it is tried again.
  private static let longestPause = 256

  private var pause = 0
  private var left = 0

  /// Whether the next wait is to begin with a look.
  mutating func isNext() -> Bool {
    if left > 0 { left -= 1 }
    return left == 0
  }

  /// Waits a moment for input on a descriptor, and lets other threads go first meanwhile.
  mutating func look(at descriptor: Int32) {
    let end = uv_hrtime() + Self.most
    repeat {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&entry, 1, 0) > 0 { return succeeded() }
      sched_yield()
    } while uv_hrtime() < end
    failed()
  }

  /// Says that input came in time.
  mutating func succeeded() { pause /= 2 }

  /// Says that none came.
  mutating func failed() {
    pause = min(max(pause * 2, 4), Self.longestPause)
    left = pause
  }
}
