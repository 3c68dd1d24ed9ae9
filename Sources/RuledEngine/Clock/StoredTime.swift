import RuledCore
import RuledJSON
package import RuledStore

/// The time and the sequence in the store, so that the steady time and the numbers of messages, effects and parked events never go back over a
/// restart.
package enum StoredTime {
  /// How many numbers are reserved at once.
  ///
  /// Numbers in use stay below the last stored bound.
  static let reserved: UInt64 = 1 << 40

  private struct Moment {
    /// The boot that `elapsed` belongs to.
    let boot: String
    let elapsed: Int64
    let steady: Int64
    /// All numbers given so far are lower.
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

  /// Continues time and sequence from the store and saves them; call it before anything is evaluated.
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
      if let value = try self.stored.read(from: context.store) {
        stored = Moment(value)
        isDamaged = stored == nil
        if isDamaged {
          context.noteDamage(self.stored.key, StoreError(.corrupt, "the stored time has another form"))
        }
      }
    } catch {
      guard error.isDamage else { throw error }
      context.noteDamage(self.stored.key, error)
      isDamaged = true
    }
    if let stored {
      let elapsed = stored.boot == boot && !boot.isEmpty ? max(0, clock.elapsed - stored.elapsed) : 0
      clock.resume(steady: stored.steady + elapsed)
      context.advanceSequence(to: stored.numbers)
    } else {
      // Outcomes may have been written with an earlier clock. If the steady time is too early, outcomes expire late, which does no harm.
      if isDamaged { clock.resume(steady: clock.now.microseconds - context.dedupWindow) }
      context.advanceSequence(to: try lastNumber(in: context))
    }
    try save(context, boot: boot)
  }

  /// The steady time at its last save in a store; nil if the store has none, or one of an unknown form.
  package static func steady(in store: any StateStore) throws(StoreError) -> Int64? {
    try stored.read(from: store).flatMap(Moment.init)?.steady
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
    try stored.write(to: context.store, durable: durable, json.write(to:))
    context.reservedSequence.store(numbers, ordering: .relaxed)
  }

  /// Whether so many reserved numbers are used that a higher bound must be saved.
  package static func needsSaving(_ context: EngineContext) -> Bool {
    context.lastSequence > context.reservedSequence.load(ordering: .relaxed) - reserved / 2
  }

  private static let stored = StoredValue(name: "time")

  /// The highest number of a message, an effect, a parked event, a member or a publication in the store.
  private static func lastNumber(in context: EngineContext) throws(StoreError) -> UInt64 {
    var last: UInt64 = 0
    for kind in [StoreKey.Kind.message, .effect, .parked, .member, .publication] {
      try context.scan(prefix: StoreKey.prefix(kind), of: kind) { key, value in
        switch try? ParsedKey(key) {
        case .message(_, let number), .effect(_, let number), .parked(_, let number), .publication(let number):
          last = max(last, number)
        case .member: last = max(last, UInt64(clamping: TopicTable.readNumber(value) ?? 0))
        default: break
        }
        return true
      }
    }
    return last
  }
}
