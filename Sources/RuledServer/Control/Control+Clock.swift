import RuledCore
import RuledEngine
import RuledStore
import RuledWire

extension Control {
  /// Sets or advances the manual clock, firing what falls due on the way before it answers.
  func setClock(_ params: ClockParams, _ id: [UInt8]?, _ target: ReplyTarget) {
    let clock = services.context.clock
    timers.retryHeld()
    switch params {
    case .set(let time) where time < clock.now:
      clock.set(time)
      keepClock()
      answer(now, id, target)
    case .set(let time): advance(to: time, id, target)
    case .advance(let microseconds):
      let (sum, overflow) = clock.now.microseconds.addingReportingOverflow(microseconds)
      let time = Timestamp(microseconds: sum)
      guard !overflow, time <= Timestamp.maximum else {
        return answer(.failure(.invalidParams(path: "params.advance", "goes beyond the year 9999")), id, target)
      }
      advance(to: time, id, target)
    }
  }

  private var now: Result<JSONValue, RequestError> {
    .success(.object(["now": .string(services.context.clock.now.rfc3339)]))
  }

  /// Fires the next timer that is due by `time`, waits for all that follows from it, and goes on; at the end the clock stands at `time`.
  ///
  /// A timer that can't fire is passed over and tried again the next time.
  private func advance(to time: Timestamp, _ id: [UInt8]?, _ target: ReplyTarget) {
    let clock = services.context.clock
    let due: [DueTimer]
    do throws(StoreError) {
      due = try StoreListing.timers(services.context, now: time.microseconds, limit: 1) { timers.holds($0) }.due
    } catch { return answer(.failure(error.requestError), id, target) }
    guard let timer = due.first else {
      clock.set(time)
      keepClock()
      return answer(now, id, target)
    }
    guard services.status.storeIsWell else {
      return answer(
        .failure(RequestError(.unavailable, "the store takes no commits; the clock stands at \(clock.now.rfc3339)")),
        id, target)
    }
    if timer.due > clock.now.microseconds { clock.set(Timestamp(microseconds: timer.due)) }
    let mailbox = services.control
    let cascade = Cascade { _ = mailbox.send(.perform { $0.advance(to: time, id, target) }) }
    _ = services.workers[services.owner(of: timer.subject)].send(.perform { $0.fire(timer, cascade) })
  }

  /// Keeps the clock's value, so that it goes on after a restart.
  private func keepClock() { KeptClock.keep(services.context) }
}

/// The manual clock's value in the store.
enum KeptClock {
  private static let value = KeptValue(name: "clock")

  static func keep(_ context: EngineContext) {
    value.keep(in: context, durable: true) {
      $0.append(bigEndian: UInt64(bitPattern: context.clock.now.microseconds))
    }
  }

  /// The value that was kept last; nil when there is none.
  static func read(from store: any StateStore) throws(StoreError) -> Timestamp? {
    let kept = ByteBuffer(capacity: 8)
    guard try value.read(from: store, into: kept) else { return nil }
    guard kept.count == 8 else { throw StoreError(.corrupt, "the manual clock's value in the store has another form") }
    return Timestamp(microseconds: Int64(bitPattern: UInt64(bigEndian: kept.bytes.loadUnaligned(as: UInt64.self))))
  }
}
