import Glibc
package import RuledCore
package import Synchronization

/// The times of the engine: the one by which rules live, the machine's or one that stands still but for whoever sets it, and the steady one.
package final class EngineClock: Sendable {
  /// Where a test's clock takes its times from, in microseconds.
  package final class Script: Sendable {
    /// What the machine's clock says, which may jump.
    package let wall: Atomic<Int64>
    /// What has elapsed, which never goes back.
    package let elapsed: Atomic<Int64>

    /// Times to begin with.
    package init(wall: Int64, elapsed: Int64) {
      self.wall = Atomic(wall)
      self.elapsed = Atomic(elapsed)
    }
  }

  /// Whether the time is set by hand.
  package let isManual: Bool
  private let manual: Atomic<Int64>
  private let script: Script?
  /// What the steady time is ahead of what has elapsed.
  private let lead: Atomic<Int64>

  /// The machine's clock.
  package init() {
    isManual = false
    manual = Atomic(0)
    script = nil
    lead = Atomic(Self.wall.microseconds - Self.elapsed)
  }

  /// A clock that stands at `start` until it is set.
  package init(manual start: Timestamp) {
    isManual = true
    manual = Atomic(start.microseconds)
    script = nil
    lead = Atomic(0)
  }

  /// A clock that tells what a test says.
  package init(script: Script) {
    isManual = false
    manual = Atomic(0)
    self.script = script
    lead = Atomic(script.wall.load(ordering: .relaxed) - script.elapsed.load(ordering: .relaxed))
  }

  /// The time.
  package var now: Timestamp {
    if isManual { return Timestamp(microseconds: manual.load(ordering: .acquiring)) }
    return script.map { Timestamp(microseconds: $0.wall.load(ordering: .relaxed)) } ?? Self.wall
  }

  /// Sets a manual clock.
  package func set(_ time: Timestamp) { manual.store(time.microseconds, ordering: .releasing) }

  // MARK: The steady time

  /// The time by which outcomes are forgotten, in microseconds: it goes no faster than time elapses, whatever the machine's clock is set to.
  ///
  /// It began as the machine's time when the store was new and goes on over restarts. Expiries are written and compared by this time alone. A manual clock is
  /// its own.
  package var steady: Int64 { isManual ? manual.load(ordering: .acquiring) : elapsed + lead.load(ordering: .relaxed) }

  /// Lets the steady time go on from `time`.
  package func resume(steady time: Int64) { lead.store(time - elapsed, ordering: .relaxed) }

  /// What has elapsed since the machine was started, in microseconds.
  package var elapsed: Int64 { script?.elapsed.load(ordering: .relaxed) ?? Self.elapsed }

  /// Read for each event, so the clock that is cheap and exact to a few milliseconds.
  private static var elapsed: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }

  // MARK: The machine

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

  /// What tells one start of the machine from another; empty where the system does not say.
  package static var boot: String {
    let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { room in
      let length = read(descriptor, room.baseAddress, room.count)
      return String(decoding: room.prefix(max(length, 0)).prefix { $0 > 0x20 }, as: UTF8.self)
    }
  }
}
