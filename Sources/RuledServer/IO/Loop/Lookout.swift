internal import CUV
internal import Glibc
internal import RuledCore

/// A loop that looks for input by itself for a moment before it sleeps, where input has come so soon of late.
///
/// To be woken takes the kernel longer than a client with one request in flight needs for its next. When nothing came in time, the next waits are slept
/// through at once, the more of them the more often that happens; so what it costs where it is of no use is next to nothing.
struct Lookout {
  /// How many nanoseconds it looks out.
  private static let most: UInt64 = 100_000
  private var attempts = AttemptSkipper(fewest: 4, most: 256)

  /// Whether the next wait is to begin with a look.
  mutating func isNext() -> Bool { attempts.shouldTry() }

  /// Waits a moment for input on a descriptor, and lets other threads go first meanwhile.
  mutating func look(at descriptor: Int32) {
    let end = uv_hrtime() + Self.most
    repeat {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&entry, 1, 0) > 0 { return attempts.noteSuccess() }
      sched_yield()
    } while uv_hrtime() < end
    attempts.noteFailure()
  }
}
