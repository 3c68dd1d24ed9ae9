import RuledCore
import RuledEngine
import RuledWire
import Synchronization

extension Control {
  /// Tries parked events again, and replies once the results are durable.
  func retry(_ selection: ParkedSelection, _ caller: ControlCaller) {
    let keys: [ParkedKey]
    do throws(RequestError) { keys = try self.keys(selection) } catch { return reply(.failure(error), to: caller) }
    if case .plugin(let name) = selection {
      services.status.catalog?.plugin(name)?.runtime.resume()
    }
    executeAll(keys, for: caller) { (evaluator, key) throws(RequestError) in
      try evaluator.retry(key)
    } result: { (outcomes) throws(RequestError) in
      try Self.retried(keys, outcomes, selection)
    }
  }

  private static func retried(
    _ keys: [ParkedKey], _ outcomes: [Result<RetryResult?, RequestError>], _ selection: ParkedSelection
  ) throws(RequestError) -> JSONValue {
    var results: [JSONValue] = []
    var failed: Int64 = 0
    for (key, outcome) in zip(keys, outcomes) {
      switch try outcome.get() {
      case .succeeded?: results.append(["id": .string(key.text)])
      case .failed(let failure)?:
        failed += 1
        results.append(["id": .string(key.text), "failure": failure.json])
      case nil: if case .event(let id) = selection { throw notParked(id) }
      }
    }
    let count = Int64(results.count)
    return [
      "retried": .integer(count), "succeeded": .integer(count - failed), "failed": .integer(failed),
      "results": .array(results),
    ]
  }

  /// Drops parked events, and replies once that is durable.
  func drop(_ selection: ParkedSelection, _ caller: ControlCaller) {
    let keys: [ParkedKey]
    do throws(RequestError) { keys = try self.keys(selection) } catch { return reply(.failure(error), to: caller) }
    executeAll(keys, for: caller) { (evaluator, key) throws(RequestError) in
      try evaluator.drop(key)
    } result: { (outcomes) throws(RequestError) in
      var dropped: Int64 = 0
      for outcome in outcomes { dropped += try outcome.get() ? 1 : 0 }
      if case .event(let id) = selection, dropped == 0 { throw Self.notParked(id) }
      return ["dropped": .integer(dropped)]
    }
  }

  private func keys(_ selection: ParkedSelection) throws(RequestError) -> [ParkedKey] {
    switch selection {
    case .plugin(let name):
      let keys = try StoreListing.parkedKeys(services.context, plugin: name)
      guard !keys.isEmpty || services.status.catalog?.index(of: name) != nil else {
        throw RequestError(.notFound, "there is no plugin '\(name)', and nothing is parked for it")
      }
      return keys
    case .event(let id):
      guard let key = ParkedKey(text: id) else { throw Self.notParked(id) }
      return [key]
    }
  }

  private static func notParked(_ id: String) -> RequestError {
    RequestError(.notFound, "no event is parked under '\(id)'")
  }

  /// Calls `body` for each parked event on the worker that owns its subject, and replies with their `result` once all of it is durable, or with an
  /// error if it could not be committed.
  private func executeAll<Outcome: Sendable>(
    _ keys: [ParkedKey], for caller: ControlCaller,
    _ body: @escaping @Sendable (Evaluator, ParkedKey) throws(RequestError) -> Outcome,
    result: @escaping @Sendable ([Result<Outcome, RequestError>]) throws(RequestError) -> JSONValue
  ) {
    let services = services
    let outcomes = Mutex<[Result<Outcome, RequestError>?]>(Array(repeating: nil, count: keys.count))
    Self.executeTurn(of: keys, from: 0, services) { evaluator, index in
      let outcome = Result { () throws(RequestError) in try body(evaluator, keys[index]) }
      outcomes.withLock { $0[index] = outcome }
    } then: { isWhole in
      let reply = Result { () throws(RequestError) in
        guard isWhole else { throw RequestError.notCommitted }
        let missing = RequestError(.unavailable, "the daemon is shutting down")
        return try result(outcomes.withLock { $0 }.map { $0 ?? .failure(missing) })
      }
      services.reply(reply, to: caller)
    }
  }

  /// Executes `turnSize` parked events, then the others: so that requests are executed in between.
  ///
  /// Each turn but the first begins on the worker that ends the one before.
  private static func executeTurn(
    of keys: [ParkedKey], from start: Int, _ services: Services,
    _ body: @escaping @Sendable (Evaluator, Int) -> Void, then finish: @escaping @Sendable (_ isWhole: Bool) -> Void
  ) {
    let end = min(start + turnSize, keys.count)
    let turn = Cascade { isWhole in
      if !isWhole || end == keys.count { return finish(isWhole) }
      executeTurn(of: keys, from: end, services, body, then: finish)
    }
    for index in start..<end {
      turn.enter()
      _ = services.workers[services.worker(for: keys[index].subject)].send(
        .evaluate { evaluator in
          body(evaluator, index)
          evaluator.batch.awaited.append(turn)
        })
    }
    turn.leave()
  }

  /// The most parked events under way at a time.
  private static let turnSize = 64
}
