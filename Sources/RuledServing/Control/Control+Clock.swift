import RuledCore
import RuledEngine
import RuledIO
import RuledStore
import RuledWire

extension Control {
  /// Sets or advances the manual clock, and replies once all timers that became due have fired.
  func setClock(_ params: ClockParams, _ caller: ControlCaller) {
    let clock = services.context.clock
    timers.retryAll()
    switch params {
    case .set(let time): move(to: max(time, clock.now), then: time, caller)
    case .advance(let microseconds):
      let (sum, overflow) = clock.now.microseconds.addingReportingOverflow(microseconds)
      let time = Timestamp(microseconds: sum)
      guard !overflow, time <= Timestamp.maximum else {
        return reply(.failure(.invalidParams(path: "params.advance", "goes beyond the year 9999")), to: caller)
      }
      move(to: time, then: time, caller)
    }
  }

  private func move(to time: Timestamp, then end: Timestamp, _ caller: ControlCaller) {
    advance(services.context.clockMoves.begin(), to: time, then: end, caller, ClientEnd(false))
  }

  private var now: Result<JSONValue, RequestError> {
    .success(.object(["now": .string(services.context.clock.now.rfc3339)]))
  }

  /// Fires the next timer that is due by `time`, waits for its cascade, and continues with the next one.
  ///
  /// In the end the clock shows `end`, which is earlier if it was set back.
  ///
  /// A timer that can't fire is skipped and tried again the next time. The clock stays where it is once the client has gone.
  func advance(
    _ move: ClockMove, to time: Timestamp, then end: Timestamp, _ caller: ControlCaller, _ clientEnd: ClientEnd
  ) {
    let clock = services.context.clock
    var goesOn = false
    defer { if !goesOn { services.context.clockMoves.end(move) } }
    let due: DueTimer?
    do throws(StoreError) { due = try next(of: move, until: time) } catch {
      return reply(.failure(error.requestError), to: caller)
    }
    guard let timer = due else {
      clock.set(end)
      StoredClock.write(services.context)
      return reply(now, to: caller)
    }
    guard services.status.storeIsWell else {
      return reply(
        .failure(RequestError(.unavailable, "the store takes no commits; the clock stands at \(clock.now.rfc3339)")),
        to: caller)
    }
    guard services.isConnected(caller, clientEnd) else {
      services.log.info("the clock stands at \(clock.now.rfc3339), as the client that moved it has gone")
      return StoredClock.write(services.context)
    }
    if timer.due > clock.now.microseconds {
      clock.set(Timestamp(microseconds: timer.due))
      // A start after a kill must not find the clock behind what the timer does.
      StoredClock.write(services.context, durable: false)
    }
    let mailbox = services.control
    goesOn = true
    move.noteFired(timer)
    let cascade = Cascade(of: move) { _ = mailbox.send(.moveClock(move, to: time, then: end, caller, clientEnd)) }
    _ = services.workers[services.worker(for: timer.subject)].send(.fire(timer, cascade))
  }

  private func next(of move: ClockMove, until time: Timestamp) throws(StoreError) -> DueTimer? {
    if let earlier = move.takeEarlier() { return earlier }
    let rules = services.status.rulesInForce
    return try StoreListing.timers(
      services.context, first: move.last, now: time.microseconds, limit: 1, waiting: { !rules.havePlugin(of: $0) },
      skipping: { timers.isDelayed($0) || move.leaves($0) }
    ).due.first
  }
}

extension Services {
  /// Whether a client is still connected, as the worker or the HTTP server with its connection says; a worker's answer counts the next time.
  func isConnected(_ caller: ControlCaller, _ end: ClientEnd) -> Bool {
    let token = caller.target.connection
    switch caller.target.receiver {
    case .http: return web.withLock { $0 }?.isAwaited(token) ?? false
    case .worker(let index):
      _ = workers[index].send(
        .lookForEnd(of: ConnectionToken(raw: token)) { end.value = true })
    }
    return !end.value
  }
}
