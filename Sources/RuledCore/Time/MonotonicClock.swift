public import Glibc

/// The time since the host's start, which nobody sets: for measuring, and for time-outs.
public enum MonotonicClock {
  @inlinable public static var nanoseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  @inlinable public static var milliseconds: Int { Int(nanoseconds / 1_000_000) }

  /// In milliseconds, with the time in which the host was suspended.
  public static var millisecondsWithSuspend: Int {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
  }
}
