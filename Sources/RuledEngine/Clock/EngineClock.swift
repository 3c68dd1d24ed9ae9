import Glibc
package import RuledCore
import Synchronization

/// The time by which rules live: the machine's, or one that stands still but for whoever sets it.
package final class EngineClock: Sendable {
  /// Whether the time is set by hand.
  package let isManual: Bool
  private let manual: Atomic<Int64>

  /// The machine's clock.
  package init() {
    isManual = false
    manual = Atomic(0)
  }

  /// A clock that stands at `start` until it is set.
  package init(manual start: Timestamp) {
    isManual = true
    manual = Atomic(start.microseconds)
  }

  /// The time.
  package var now: Timestamp {
    isManual ? Timestamp(microseconds: manual.load(ordering: .acquiring)) : Self.wall
  }

  /// Sets a manual clock.
  package func set(_ time: Timestamp) { manual.store(time.microseconds, ordering: .releasing) }

  /// The machine's time.
  package static var wall: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }

  /// Nanoseconds of a clock that only measures.
  package static var monotonic: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// The processor time that the calling thread has used, in microseconds.
  static var processorTime: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }
}
