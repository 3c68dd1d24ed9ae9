import RuledCore
import RuledEngine
import RuledStore
import RuledWire

extension Control {
  /// Sets or advances the manual clock, and replies once all timers that became due have fired.
  func setClock(_ params: ClockParams, _ caller: ControlCaller) {
    let clock = services.context.clock
    timers.retryHeld()
    switch params {
    case .set(let time): advance(to: max(time, clock.now), then: time, caller)
    case .advance(let microseconds):
      let (sum, overflow) = clock.now.microseconds.addingReportingOverflow(microseconds)
      let time = Timestamp(microseconds: sum)
      guard !overflow, time <= Timestamp.maximum else {
        return reply(.failure(.invalidParams(path: "params.advance", "goes beyond the year 9999")), to: caller)
      }
      advance(to: time, then: time, caller)
    }
  }

  private var now: Result<JSONValue, RequestError> {
    .success(.object(["now": .string(services.context.clock.now.rfc3339)]))
  }

  /// Fires the next timer that is due by `time`, waits for its cascade, and continues with the next one.
  ///
  /// In the end the clock shows `end`, which is earlier if it was set back.
  ///
  /// A timer that can't fire is skipped and tried again the next time.
  private func advance(to time: Timestamp, then end: Timestamp, _ caller: ControlCaller) {
    let clock = services.context.clock
    let rules = services.status.rulesInForce
    let due: [DueTimer]
    do throws(StoreError) {
      due = try StoreListing.timers(
        services.context, now: time.microseconds, limit: 1, waiting: { !rules.havePlugin(of: $0) },
        skipping: { timers.holds($0) }
      ).due
    } catch { return reply(.failure(error.requestError), to: caller) }
    guard let timer = due.first else {
      clock.set(end)
      storeClock()
      return reply(now, to: caller)
    }
    guard services.status.storeIsWell else {
      return reply(
        .failure(RequestError(.unavailable, "the store takes no commits; the clock stands at \(clock.now.rfc3339)")),
        to: caller)
    }
    if timer.due > clock.now.microseconds { clock.set(Timestamp(microseconds: timer.due)) }
    let mailbox = services.control
    let cascade = Cascade { _ = mailbox.send(.perform { $0.advance(to: time, then: end, caller) }) }
    _ = services.workers[services.worker(for: timer.subject)].send(.perform { $0.fire(timer, cascade) })
  }

  /// Stores the clock's value, so that it continues from there after a restart.
  private func storeClock() { StoredClock.write(services.context) }
}

/// The manual clock's value in the store.
enum StoredClock {
  private static let value = StoredValue(name: "clock")

  static func write(_ context: EngineContext) {
    value.write(to: context, durable: true) {
      $0.append(bigEndian: UInt64(bitPattern: context.clock.now.microseconds))
    }
  }

  /// The stored value; nil when there is none.
  static func read(from store: any StateStore) throws(StoreError) -> Timestamp? {
    let stored = ByteBuffer(capacity: 8)
    guard try value.read(from: store, into: stored) else { return nil }
    guard stored.count == 8 else {
      throw StoreError(.corrupt, "the manual clock's value in the store has another form")
    }
    return Timestamp(microseconds: Int64(bitPattern: UInt64(bigEndian: stored.bytes.load(at: 0, as: UInt64.self))))
  }
}

/// A value of the daemon itself that the store holds under a name.
struct StoredValue {
  /// The name, unique among the daemon's values.
  let name: String

  /// Stores what `body` appends.
  ///
  /// If the store fails, it keeps the value before, and the failure is logged.
  func write(to context: EngineContext, durable: Bool, _ body: (ByteBuffer) -> Void) {
    do throws(StoreError) { try write(to: context.store, durable: durable, body) } catch {
      context.log.write(LogLine(.error, "the daemon's own '\(name)' could not be kept in the store: \(error)"))
    }
  }

  func write(to store: any StateStore, durable: Bool = true, _ body: (ByteBuffer) -> Void) throws(StoreError) {
    let value = ByteBuffer()
    body(value)
    let key = self.key
    let set = WriteSet(capacity: value.count + 64)
    withExtendedLifetime((key, value)) { set.put(key.bytes, value.bytes) }
    try store.commit(set, durable: durable)
  }

  /// Adds what `body` appends to what is committed.
  func put(into set: WriteSet, _ body: (ByteBuffer) -> Void) {
    let value = ByteBuffer()
    body(value)
    let key = self.key
    withExtendedLifetime((key, value)) { set.put(key.bytes, value.bytes) }
  }

  /// Adds the removal of the value to what is committed.
  func delete(from set: WriteSet) {
    let key = self.key
    withExtendedLifetime(key) { set.delete(key.bytes) }
  }

  /// Removes the stored value, durably.
  func remove(from store: any StateStore) throws(StoreError) {
    let key = self.key
    let set = WriteSet(capacity: 64)
    withExtendedLifetime(key) { set.delete(key.bytes) }
    try store.commit(set, durable: true)
  }

  /// Appends the stored value; false if there is none.
  func read(from store: any StateStore, into value: ByteBuffer) throws(StoreError) -> Bool {
    let key = self.key
    defer { withExtendedLifetime(key) {} }
    return try store.get(key.bytes, into: value)
  }

  private var key: ByteBuffer {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon(name, into: key)
    return key
  }
}
