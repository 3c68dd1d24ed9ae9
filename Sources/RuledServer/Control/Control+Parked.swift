import RuledCore
import RuledEngine
import RuledWire
import Synchronization

extension Control {
  /// The parts that a client means.
  private func keys(_ selection: ParkedSelection) throws(RequestError) -> [ParkedKey] {
    switch selection {
    case .plugin(let name):
      let keys = try StoreListing.parkedKeys(services.context, plugin: name)
      guard !keys.isEmpty || services.status.catalog?.index(of: name) != nil else {
        throw RequestError(.notFound, "there is no plugin '\(name)', and nothing is parked for it")
      }
      return keys
    case .event(let id):
      guard let key = ParkedKey(id: id) else { throw Self.notParked(id) }
      return [key]
    }
  }

  private static func notParked(_ id: String) -> RequestError {
    RequestError(.notFound, "no event is parked under '\(id)'")
  }

  private static let notCommitted = RequestError(
    .unavailable, "the store refused the commit: what it was asked for is not or not all done, send it again")

  /// Tries parked events again; the answer leaves once what came of it is durable.
  func retry(_ selection: ParkedSelection, _ id: [UInt8]?, _ target: ReplyTarget) {
    let keys: [ParkedKey]
    do throws(RequestError) { keys = try self.keys(selection) } catch { return answer(.failure(error), id, target) }
    if case .plugin(let name) = selection {
      services.status.catalog?.plugins.first { $0.name == name }?.runtime.resume()
    }
    forEach(keys, id, target, { $0.retry($1) }) { outcomes in
      var results: [JSONValue] = []
      var failed: Int64 = 0
      for (key, outcome) in zip(keys, outcomes) {
        switch outcome {
        case .success(.some(.succeeded)): results.append(.object(["id": .string(key.id)]))
        case .success(.some(.failed(let failure))):
          failed += 1
          results.append(.object(["id": .string(key.id), "failure": failure.json]))
        case .success(.none):
          if case .event(let id) = selection { return .failure(Self.notParked(id)) }
        case .failure(let error): return .failure(error)
        }
      }
      let count = Int64(results.count)
      return .success(
        .object([
          "retried": .integer(count), "succeeded": .integer(count - failed), "failed": .integer(failed),
          "results": .array(results),
        ]))
    }
  }

  /// Gives parked events up.
  func drop(_ selection: ParkedSelection, _ id: [UInt8]?, _ target: ReplyTarget) {
    let keys: [ParkedKey]
    do throws(RequestError) { keys = try self.keys(selection) } catch { return answer(.failure(error), id, target) }
    forEach(keys, id, target, { $0.drop($1) }) { outcomes in
      var dropped: Int64 = 0
      for outcome in outcomes {
        switch outcome {
        case .success(let found): dropped += found ? 1 : 0
        case .failure(let error): return .failure(error)
        }
      }
      if case .event(let id) = selection, dropped == 0 { return .failure(Self.notParked(id)) }
      return .success(.object(["dropped": .integer(dropped)]))
    }
  }

  /// Does something for each part on the worker whose subject it is, and answers once all of it is durable.
  ///
  /// Only some are under way at a time, so that requests have their turn between them.
  private func forEach<Outcome: Sendable>(
    _ keys: [ParkedKey], _ id: [UInt8]?, _ target: ReplyTarget,
    _ body: @escaping @Sendable (Worker, ParkedKey) -> Result<Outcome, RequestError>,
    then result: @escaping @Sendable ([Result<Outcome, RequestError>]) -> Result<JSONValue, RequestError>
  ) {
    let collected = Collected<Outcome>(count: keys.count)
    forEach(keys, from: 0, { collected.set($1, body($0, keys[$1])) }) { control, isWhole in
      control.answer(isWhole ? result(collected.outcomes) : .failure(Self.notCommitted), id, target)
    }
  }

  private func forEach(
    _ keys: [ParkedKey], from start: Int, _ body: @escaping @Sendable (Worker, Int) -> Void,
    then finish: @escaping @Sendable (Control, _ isWhole: Bool) -> Void
  ) {
    let end = min(start + Self.partsAtOnce, keys.count)
    let mailbox = services.control
    let some = Cascade { isWhole in
      _ = mailbox.send(
        .perform { control in
          if !isWhole || end == keys.count { return finish(control, isWhole) }
          control.forEach(keys, from: end, body, then: finish)
        })
    }
    for place in start..<end {
      some.began()
      _ = services.workers[services.owner(of: keys[place].subject)].send(
        .perform { worker in
          body(worker, place)
          worker.evaluator.batch.awaited.append(some)
        })
    }
    some.ended()
  }

  /// How many parked parts are under way at a time.
  private static let partsAtOnce = 64
}

extension Worker {
  /// Tries a parked part again; nil when it is gone.
  func retry(_ key: ParkedKey) -> Result<RetryResult?, RequestError> {
    do throws(RequestError) { return .success(try evaluator.retry(key)) } catch { return .failure(error) }
  }

  /// Gives a parked part up; false when it is gone.
  func drop(_ key: ParkedKey) -> Result<Bool, RequestError> {
    do throws(RequestError) { return .success(try evaluator.drop(key)) } catch { return .failure(error) }
  }
}

/// Results that come from several threads.
private final class Collected<Outcome: Sendable>: Sendable {
  private let values: Mutex<[Result<Outcome, RequestError>?]>

  init(count: Int) { values = Mutex(Array(repeating: nil, count: count)) }

  func set(_ place: Int, _ value: Result<Outcome, RequestError>) { values.withLock { $0[place] = value } }

  var outcomes: [Result<Outcome, RequestError>] {
    values.withLock { values in
      values.map { $0 ?? .failure(RequestError(.unavailable, "the daemon is shutting down")) }
    }
  }
}
