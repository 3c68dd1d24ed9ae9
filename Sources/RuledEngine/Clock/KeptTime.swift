import RuledCore
package import RuledStore

/// What the store keeps of time, so that the steady time and the numbers of messages, effects and parked events never go back over a restart.
package enum KeptTime {
  /// How many numbers are set aside ahead; what is in use must stay below what was kept last.
  private static let ahead: UInt64 = 1 << 40

  /// The moment that was kept.
  private struct Moment {
    /// Which start of the machine `elapsed` belongs to.
    let boot: String
    let elapsed: Int64
    let steady: Int64
    /// No number at or above has been given.
    let numbers: UInt64

    init?(_ json: JSONValue) {
      guard let boot = json["boot"]?.stringValue, let elapsed = json["elapsed"]?.intValue,
        let steady = json["steady"]?.intValue, let numbers = json["numbers"]?.intValue, numbers >= 0
      else { return nil }
      self.boot = boot
      self.elapsed = elapsed
      self.steady = steady
      self.numbers = UInt64(numbers)
    }
  }

  /// Goes on from what the store holds, and keeps the present; to be called before anything is evaluated.
  ///
  /// As long as the machine has been up since, what elapsed while no daemon ran counts. Over a restart of the machine nobody can tell how long that was, so
  /// that it counts as nothing: outcomes are then remembered longer, by what the machine was down.
  /// - Parameters:
  ///   - context: whose clock and numbers go on.
  ///   - boot: which start of the machine this is.
  /// - Throws: when the store takes nothing, or can't be asked at all.
  package static func resume(_ context: EngineContext, boot: String = EngineClock.boot) throws(StoreError) {
    let clock = context.clock
    var kept: Moment?
    var isDamaged = false
    do throws(StoreError) {
      let value = ByteBuffer()
      if try context.store.get(key.bytes, into: value) {
        kept = (try? JSONValue(parsing: value.bytes)).flatMap { Moment($0) }
        isDamaged = kept == nil
        if isDamaged {
          context.noteDamage(key.bytes, StoreError(.corrupt, "what the store keeps of the time has another form"))
        }
      }
    } catch {
      guard error.isDamage else { throw error }
      context.noteDamage(key.bytes, error)
      isDamaged = true
    }
    if let kept {
      let elapsed = kept.boot == boot && !boot.isEmpty ? max(0, clock.elapsed - kept.elapsed) : 0
      clock.resume(steady: kept.steady + elapsed)
      context.sequence(atLeast: kept.numbers)
    } else {
      // Outcomes may have been written by a clock that was behind this one: too early a time forgets late, which does no harm.
      if isDamaged { clock.resume(steady: clock.now.microseconds - context.dedupWindow) }
      context.sequence(atLeast: try lastNumber(in: context))
    }
    try keep(context, boot: boot)
  }

  /// Keeps the present; what is not synced with it may be lost.
  package static func keep(
    _ context: EngineContext, boot: String = EngineClock.boot, durable: Bool = true
  ) throws(StoreError) {
    let numbers = context.lastSequence + ahead
    let json: JSONValue = .object([
      "boot": .string(boot), "elapsed": .integer(context.clock.elapsed), "steady": .integer(context.clock.steady),
      "numbers": .integer(Int64(clamping: numbers)),
    ])
    let value = ByteBuffer()
    json.write(to: value)
    let set = WriteSet(capacity: 256)
    withExtendedLifetime(value) { set.put(key.bytes, value.bytes) }
    try context.store.commit(set, durable: durable)
    context.keptSequence.store(numbers, ordering: .relaxed)
  }

  /// Whether numbers are in use that come near to what was kept.
  package static func isDue(_ context: EngineContext) -> Bool {
    context.lastSequence > context.keptSequence.load(ordering: .relaxed) - ahead / 2
  }

  private static let key: ByteBuffer = {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon("time", into: key)
    return key
  }()

  /// The highest number that a message, an effect or a parked event in the store has.
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
