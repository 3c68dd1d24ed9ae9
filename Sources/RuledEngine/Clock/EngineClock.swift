import Glibc
package import RuledCore
package import Synchronization

/// The clocks of the engine: the rules' clock, which is the host's or set by hand, and the steady clock, by which outcomes expire.
package final class EngineClock: Sendable {
  /// The times of a test's clock, in microseconds.
  package final class Script: Sendable {
    /// The wall clock, which may jump.
    package let wall: Atomic<Int64>
    /// The time since the host was started, which never goes back.
    let elapsed: Atomic<Int64>

    package init(wall: Int64, elapsed: Int64) {
      self.wall = Atomic(wall)
      self.elapsed = Atomic(elapsed)
    }
  }

  package let isManual: Bool
  private let manual: Atomic<Int64>
  private let script: Script?
  /// The steady time minus the elapsed time.
  private let lead: Atomic<Int64>

  /// The host's clock.
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

  package init(script: Script) {
    isManual = false
    manual = Atomic(0)
    self.script = script
    lead = Atomic(script.wall.load(ordering: .relaxed) - script.elapsed.load(ordering: .relaxed))
  }

  package var now: Timestamp {
    @_effects(releasenone) get {
      if isManual { return Timestamp(microseconds: manual.load(ordering: .acquiring)) }
      return script.map { Timestamp(microseconds: $0.wall.load(ordering: .relaxed)) } ?? Self.wall
    }
  }

  package func set(_ time: Timestamp) { manual.store(time.microseconds, ordering: .releasing) }

  // MARK: The steady time

  /// The time by which outcomes expire, in microseconds since 1970.
  ///
  /// It advances with elapsed time, even if somebody sets the host's clock.
  ///
  /// It began as the wall time when the store was new, and continues over restarts (`StoredTime`). Expiries are written and compared in this
  /// time only. With a manual clock it is the manual time.
  package var steady: Int64 {
    @_effects(releasenone) get {
      isManual ? manual.load(ordering: .acquiring) : elapsed + lead.load(ordering: .relaxed)
    }
  }

  func resume(steady time: Int64) { lead.store(time - elapsed, ordering: .relaxed) }

  /// The time since the host was started, in microseconds.
  var elapsed: Int64 { script?.elapsed.load(ordering: .relaxed) ?? Self.elapsed }

  private static var elapsed: Int64 { Int64(coarse / 1000) }

  // MARK: The host

  package static var wall: Timestamp { .wall }

  /// Nanoseconds of a monotonic clock, for measuring.
  package static var monotonic: UInt64 { MonotonicClock.nanoseconds }

  /// Nanoseconds of the same clock, late by a few milliseconds: it is cheap, as it is read for each event.
  package static var coarse: UInt64 {
    @_effects(releasenone) get {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
      return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
  }

  /// The processor time of the calling thread, in microseconds.
  static var processorTime: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }

  /// The id of the host's last boot; empty if the system has none.
  static var boot: String {
    let text = (try? RegularFile.read("/proc/sys/kernel/random/boot_id", limit: 64)) ?? []
    return String(decoding: text.prefix { $0 > 0x20 }, as: UTF8.self)
  }
}
