import Glibc
package import RuledCore
import RuledJSON
package import RuledStore
package import Synchronization

/// The clocks of the engine: the one that rules see, which is the host's or is set by hand, and the steady one, by which outcomes expire.
package final class EngineClock: Sendable {
  /// The times of a test's clock, in microseconds.
  package final class Script: Sendable {
    /// The wall clock, which may jump.
    package let wall: Atomic<Int64>
    /// The time since the host was started, which never goes back.
    package let elapsed: Atomic<Int64>

    /// The first times.
    package init(wall: Int64, elapsed: Int64) {
      self.wall = Atomic(wall)
      self.elapsed = Atomic(elapsed)
    }
  }

  /// Whether the time is set by hand.
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

  /// A clock with the times of a test.
  package init(script: Script) {
    isManual = false
    manual = Atomic(0)
    self.script = script
    lead = Atomic(script.wall.load(ordering: .relaxed) - script.elapsed.load(ordering: .relaxed))
  }

  /// The time that rules see.
  package var now: Timestamp {
    if isManual { return Timestamp(microseconds: manual.load(ordering: .acquiring)) }
    return script.map { Timestamp(microseconds: $0.wall.load(ordering: .relaxed)) } ?? Self.wall
  }

  /// Sets a manual clock.
  package func set(_ time: Timestamp) { manual.store(time.microseconds, ordering: .releasing) }

  // MARK: The steady time

  /// The time by which outcomes expire, in microseconds since 1970.
  ///
  /// It advances with elapsed time, even if somebody sets the host's clock.
  ///
  /// It began as the wall time when the store was new, and continues over restarts (`StoredTime`). Expiries are written and compared in this
  /// time only. With a manual clock it is the manual time.
  package var steady: Int64 { isManual ? manual.load(ordering: .acquiring) : elapsed + lead.load(ordering: .relaxed) }

  /// Continues the steady time from `time`.
  package func resume(steady time: Int64) { lead.store(time - elapsed, ordering: .relaxed) }

  /// The time since the host was started, in microseconds.
  package var elapsed: Int64 { script?.elapsed.load(ordering: .relaxed) ?? Self.elapsed }

  /// Read for each event: so the clock that is cheap, and exact to a few milliseconds.
  private static var elapsed: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }

  // MARK: The host

  /// The host's wall clock.
  package static var wall: Timestamp { .wall }

  /// Nanoseconds of a monotonic clock, for measuring.
  package static var monotonic: UInt64 { MonotonicClock.nanoseconds }

  /// The processor time of the calling thread, in microseconds.
  static var processorTime: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }

  /// The id of the host's last boot; empty if the system has none.
  package static var boot: String {
    let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 64)
    let length = read(descriptor, &text, text.count)
    return String(decoding: text.prefix(max(length, 0)).prefix { $0 > 0x20 }, as: UTF8.self)
  }
}

/// The time and the sequence in the store, so that the steady time and the numbers of messages, effects and parked events never go back over a
/// restart.
package enum StoredTime {
  /// How many numbers are reserved at once.
  ///
  /// Numbers in use stay below the last stored bound.
  private static let reserved: UInt64 = 1 << 40

  /// The stored value.
  private struct Moment {
    /// The boot that `elapsed` belongs to.
    let boot: String
    let elapsed: Int64
    let steady: Int64
    /// No number from this one on was given.
    let numbers: UInt64

    init?(_ value: ByteBuffer) {
      guard let json = try? JSONValue(parsing: value.bytes), let boot = json["boot"]?.stringValue,
        let elapsed = json["elapsed"]?.intValue,
        let steady = json["steady"]?.intValue, let numbers = json["numbers"]?.intValue, numbers >= 0
      else { return nil }
      self.boot = boot
      self.elapsed = elapsed
      self.steady = steady
      self.numbers = UInt64(numbers)
    }
  }

  /// Continues time and sequence from the store and saves them; to be called before anything is evaluated.
  ///
  /// Time without a daemon counts if the host was up. If the host was restarted, its down time is unknown and does not count: outcomes are then
  /// remembered that much longer.
  /// - Parameters:
  ///   - context: has the clock and the sequence.
  ///   - boot: the id of the host's boot.
  /// - Throws: when the store can't be read or written.
  package static func resume(_ context: EngineContext, boot: String = EngineClock.boot) throws(StoreError) {
    let clock = context.clock
    var stored: Moment?
    var isDamaged = false
    do throws(StoreError) {
      let value = ByteBuffer()
      if try context.store.get(key.bytes, into: value) {
        stored = Moment(value)
        isDamaged = stored == nil
        if isDamaged {
          context.noteDamage(key.bytes, StoreError(.corrupt, "what the store keeps of the time has another form"))
        }
      }
    } catch {
      guard error.isDamage else { throw error }
      context.noteDamage(key.bytes, error)
      isDamaged = true
    }
    if let stored {
      let elapsed = stored.boot == boot && !boot.isEmpty ? max(0, clock.elapsed - stored.elapsed) : 0
      clock.resume(steady: stored.steady + elapsed)
      context.advanceSequence(to: stored.numbers)
    } else {
      // Outcomes may have been written with an earlier clock. A steady time that is too early forgets late, which does no harm.
      if isDamaged { clock.resume(steady: clock.now.microseconds - context.dedupWindow) }
      context.advanceSequence(to: try lastNumber(in: context))
    }
    try save(context, boot: boot)
  }

  /// The steady time in a store when it was last saved; nil if the store has none that can be understood.
  package static func steady(in store: any StateStore) throws(StoreError) -> Int64? {
    let value = ByteBuffer()
    return try store.get(key.bytes, into: value) ? Moment(value)?.steady : nil
  }

  /// Saves time and sequence; a save that is not durable may be lost.
  package static func save(
    _ context: EngineContext, boot: String = EngineClock.boot, durable: Bool = true
  ) throws(StoreError) {
    let numbers = context.lastSequence + reserved
    let json: JSONValue = .object([
      "boot": .string(boot), "elapsed": .integer(context.clock.elapsed), "steady": .integer(context.clock.steady),
      "numbers": .integer(Int64(clamping: numbers)),
    ])
    let value = ByteBuffer()
    json.write(to: value)
    let set = WriteSet(capacity: 256)
    withExtendedLifetime(value) { set.put(key.bytes, value.bytes) }
    try context.store.commit(set, durable: durable)
    context.reservedSequence.store(numbers, ordering: .relaxed)
  }

  /// Whether so many reserved numbers are used that it must be saved again.
  package static func needsSaving(_ context: EngineContext) -> Bool {
    context.lastSequence > context.reservedSequence.load(ordering: .relaxed) - reserved / 2
  }

  private static let key: ByteBuffer = {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon("time", into: key)
    return key
  }()

  /// The highest number of a message, an effect or a parked event in the store.
  private static func lastNumber(in context: EngineContext) throws(StoreError) -> UInt64 {
    var last: UInt64 = 0
    for kind in [StoreKey.Kind.message, .effect, .parked] {
      try context.scan(prefix: StoreKey.prefix(kind), of: kind) { key, _ in
        switch try? ParsedKey(key) {
        case .message(_, let number), .effect(_, let number), .parked(_, let number): last = max(last, number)
        default: break
        }
        return true
      }
    }
    return last
  }
}
