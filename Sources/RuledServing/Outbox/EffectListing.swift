import RuledCore
import RuledDelivery
import RuledEngine
import RuledIO
import RuledStore
import RuledWire

/// Lists undelivered effects, and lets them be tried again or dropped; confined to the outbox's thread.
///
/// All of it reads the store a part at a time, between ticks.
final class EffectListing: OutboxPart {
  /// The number of effects read in a tick.
  private static let turnCount = 2_000
  /// The number of effects changed at a time.
  private static let changeCount = 256

  private let scan: EffectScan
  /// The next step after each change of effects under way.
  private var ends: [UInt64: (_ isWhole: Bool) -> Void] = [:]
  private var lastChange: UInt64 = 0

  /// A listing of the effects in a store; `scan` takes the effects to try again.
  init(_ scan: EffectScan) {
    self.scan = scan
    super.init(sharing: scan)
  }

  // MARK: Listing

  func list(_ params: EffectsParams, for caller: ControlCaller) {
    var range = Self.range(of: params.subject)
    if let after = params.after {
      guard let key = EffectKey(text: after) else {
        return services.reply(
          .failure(.invalidParams(path: "params.after", "must be the \"next\" of an earlier list")), to: caller)
      }
      let next = Self.position(after: key)
      if range.lower.lexicographicallyPrecedes(next) { range.lower = next }
    }
    var (effects, bytes): ([JSONValue], Int) = ([], 0)
    var (last, hasMore): (EffectKey?, Bool) = (nil, false)
    walk(range) { key, effect, text in
      guard params.sink.map({ $0 == effect.sink }) ?? true, params.plugin.map({ $0 == effect.plugin }) ?? true,
        params.type.map({ $0 == effect.type }) ?? true
      else { return true }
      let isFailed = self.store.isGivenUp(effect)
      guard params.status.map({ ($0 == .failed) == isFailed }) ?? true else { return true }
      if effects.count == params.limit || bytes > Limits.pageBytes {
        hasMore = true
        return false
      }
      effects.append(self.json(key, effect, text, withData: params.withData))
      last = key
      if params.withData { bytes += text.count }
      return true
    } done: { result in
      let next = hasMore ? last.map { JSONValue.string($0.text) } : nil
      self.services.reply(result.map { .members(["effects": .array(effects), "next": next]) }, to: caller)
    }
  }

  /// Replies with one undelivered effect and its data.
  func show(_ selection: EffectSelection, for caller: ControlCaller) {
    var found: [JSONValue] = []
    let (range, keys) = Self.scope(of: selection)
    find(selection, in: range, keys: keys) { key, effect, text in
      found.append(self.json(key, effect, text, withData: true))
      return found.count < 2
    } done: { result in
      self.services.reply(
        result.flatMap {
          guard let first = found.first else { return .failure(Self.notFound(selection)) }
          guard found.count == 1 else {
            return .failure(
              .invalidParams(
                path: "params.subject", "several effects have this id; name the subject, or the key that effects lists")
            )
          }
          return .success(first)
        }, to: caller)
    }
  }

  /// The protocol's form of an effect, whose stored text is `text`.
  private func json(_ key: EffectKey, _ effect: StoredEffect, _ text: ByteView, withData: Bool) -> JSONValue {
    let stored = try? store.document.parse(text)
    let queue = sinks[effect.sink]?.existingQueue(of: effect.plugin)
    let subject = queue?.effects(of: key.subject)
    let isFirst = subject.map { $0.count > 0 && $0.first == key.sequence } ?? false
    let isFailed = store.isGivenUp(effect)
    let failure = (isFirst ? subject?.failure : nil) ?? (isFailed ? nil : queue?.failure) ?? effect.mark?.failure
    let at = stored?.member("at")?.string.flatMap { Timestamp(rfc3339: $0) }?.microseconds ?? 0
    var object: JSONObject = [
      "id": .string(effect.id), "key": .string(key.text), "sink": .string(effect.sink),
      "plugin": .string(effect.plugin), "subject": .string(key.subject.text), "type": .string(effect.type),
      "at": .string(Timestamp(microseconds: at).rfc3339),
      "age_s": .integer(max(0, (services.context.clock.now.microseconds - at) / 1_000_000)),
      "status": .string(isFailed ? "failed" : "waiting"),
      "tries": .integer(Int64((effect.mark?.tries ?? 0) + (isFirst ? subject?.tries ?? 0 : 0))),
    ]
    object["error"] = failure.map { .string($0.reason) }
    object["http_status"] = failure?.status.map { .integer(Int64($0)) }
    object["body"] = failure?.body.map(JSONValue.string)
    if isFailed, let mark = effect.mark { object["failed_at"] = .string(mark.at) }
    if !isFailed, isFirst, let queue, let subject {
      let next = max(subject.notBefore, queue.pausedUntil)
      if let sink = sinks[effect.sink], sink.busySubjects.contains(key.subject) {
        object["under_way"] = .bool(true)
      } else if next > loop.now {
        let time = EngineClock.wall.microseconds + Int64(next - loop.now) * 1_000
        object["next_try"] = .string(Timestamp(microseconds: time).rfc3339)
      }
    }
    if withData { object["data"] = stored?.member("data").map { JSONValue($0) } ?? .null }
    return .object(object)
  }

  // MARK: Changing

  /// Continues after a change of effects, which is durable, or is lost.
  func endChange(_ number: UInt64, isWhole: Bool) { ends.removeValue(forKey: number)?(isWhole) }

  /// A change of the effects that a client has selected, under way.
  private final class Changes {
    /// Whether the effects are tried again; otherwise they are dropped.
    let isResend: Bool
    let selection: EffectSelection
    let caller: ControlCaller
    var range: KeyRange
    var keys: ArraySlice<String>
    var count = 0

    init(_ selection: EffectSelection, isResend: Bool, _ caller: ControlCaller) {
      self.isResend = isResend
      self.selection = selection
      self.caller = caller
      (range, keys) = EffectListing.scope(of: selection)
    }
  }

  /// Tries effects again, or removes them, and replies once that is durable.
  func change(_ selection: EffectSelection, isResend: Bool, for caller: ControlCaller) {
    continueChange(Changes(selection, isResend: isResend, caller))
  }

  private func continueChange(_ changes: Changes) {
    var found: [(key: EffectKey, text: [UInt8], sink: String, wasGivenUp: Bool)] = []
    var next: [UInt8]?
    let keys = changes.keys.prefix(Self.changeCount)
    changes.keys = changes.keys.dropFirst(Self.changeCount)
    find(changes.selection, in: changes.range, keys: keys) { key, effect, text in
      let isFailed = self.store.isGivenUp(effect)
      var changed: [UInt8] = []
      if changes.isResend, isFailed, var mark = effect.mark {
        mark.after = 0
        changed = StoredEffect.marked(effect.emitted(text, self.store.document), mark)
      }
      found.append((key, changed, effect.sink, isFailed))
      guard found.count == Self.changeCount else { return true }
      next = Self.position(after: key)
      return false
    } done: { result in
      if case .failure(let error) = result { return self.services.reply(.failure(error), to: changes.caller) }
      self.apply(changes, found) { [unowned self] isWhole in
        guard isWhole else { return services.reply(.failure(.notCommitted), to: changes.caller) }
        changes.count += found.count
        if let next { changes.range.lower = next }
        if next != nil || !changes.keys.isEmpty { return continueChange(changes) }
        if case .id = changes.selection, changes.count == 0 {
          return services.reply(.failure(Self.notFound(changes.selection)), to: changes.caller)
        }
        let name = changes.isResend ? "resent" : "dropped"
        services.reply(.success(.object([name: .integer(Int64(changes.count))])), to: changes.caller)
      }
    }
  }

  /// Changes effects on the workers that own their subjects, and then requeues them.
  private func apply(
    _ changes: Changes, _ found: [(key: EffectKey, text: [UInt8], sink: String, wasGivenUp: Bool)],
    then finish: @escaping (Bool) -> Void
  ) {
    let (mailbox, isResend) = (services.outbox.mailbox, changes.isResend)
    lastChange += 1
    let number = lastChange
    ends[number] = { [unowned self] isWhole in
      if isWhole { for item in found { requeue(item.key, sink: item.sink, item.wasGivenUp, isResend: isResend) } }
      finish(isWhole)
    }
    let all = Cascade { isWhole in
      _ = mailbox.send(.changeEnded(number, isWhole: isWhole))
    }
    for item in found where !isResend || item.wasGivenUp {
      let (key, text) = (item.key, item.text)
      all.enter()
      let isSent = services.workers[services.worker(for: key.subject)].send(
        .evaluate { evaluator in
          do throws(RequestError) {
            _ = try evaluator.replace(key, with: isResend ? text : nil)
            evaluator.batch.awaited.append(all)
          } catch { all.leave(isCommitted: false) }
        })
      if !isSent { all.leave(isCommitted: false) }
    }
    all.leave()
  }

  /// Puts a changed effect back into its queues, or removes it from them.
  private func requeue(_ key: EffectKey, sink name: String, _ wasGivenUp: Bool, isResend: Bool) {
    let sink = sinks.sink(name)
    if wasGivenUp {
      sink.givenUp = max(0, sink.givenUp - 1)
      scan.scheduleRecount()
    }
    if isResend {
      if wasGivenUp { scan.add(key) }
      for queue in sink.queues { queue.expedite(key.subject) }
    } else {
      sink.ended(key)
      for queue in sink.queues { queue.remove(key, isBusy: sink.busySubjects.contains(key.subject)) }
    }
  }

  private static func notFound(_ selection: EffectSelection) -> RequestError {
    switch selection {
    case .id(let id, _): RequestError(.notFound, "no undelivered effect has the id '\(id)'")
    case .keys, .failed: RequestError(.notFound, "there is no such undelivered effect")
    }
  }

  // MARK: Walking

  private typealias KeyRange = (lower: [UInt8], upper: [UInt8]?)

  private static func range(of subject: String?) -> KeyRange {
    guard let subject else { return (StoreKey.prefix(.effect), StoreKey.upperBound(StoreKey.prefix(.effect))) }
    let prefix = StoreKey.prefix(.effect, of: subject)
    return (prefix, StoreKey.upperBound(prefix))
  }

  private static func position(after key: EffectKey) -> [UInt8] { StoreKey.bytes { key.write(to: $0) } + [0] }

  /// The range of the store that may hold the selected effects, and the keys that the client gave.
  private static func scope(of selection: EffectSelection) -> (range: KeyRange, keys: ArraySlice<String>) {
    switch selection {
    case .id(_, let subject): (range(of: subject), [])
    case .keys(let keys): (range(of: nil), keys[...])
    case .failed: (range(of: nil), [])
    }
  }

  /// Calls `body` with each selected effect in a range, or of those with these keys, until it returns false, and `done` at the end.
  private func find(
    _ selection: EffectSelection, in range: KeyRange, keys: ArraySlice<String>,
    _ body: @escaping (EffectKey, StoredEffect, ByteView) -> Bool, done: @escaping (Result<Void, RequestError>) -> Void
  ) {
    switch selection {
    case .keys:
      for text in keys {
        guard let key = EffectKey(text: text), case .found(let effect) = store.fetch(key) else { continue }
        guard body(key, effect, store.value.bytes) else { break }
      }
      done(.success(()))
    case .id(let id, _):
      walk(range, { key, effect, text in effect.id == id ? body(key, effect, text) : true }, done: done)
    case .failed(let sink):
      walk(
        range,
        { key, effect, text in effect.sink == sink && self.store.isGivenUp(effect) ? body(key, effect, text) : true },
        done: done)
    }
  }

  /// Calls `body` with each effect in a range of the store until it returns false, some in each tick, and `done` at the end.
  private func walk(
    _ range: KeyRange, _ body: @escaping (EffectKey, StoredEffect, ByteView) -> Bool,
    done: @escaping (Result<Void, RequestError>) -> Void
  ) {
    var count = 0
    var next: [UInt8]?
    do throws(StoreError) {
      try services.context.scan(from: range.lower, to: range.upper, of: .effect) { bytes, text in
        guard count < Self.turnCount else {
          next = Array(bytes)
          return false
        }
        count += 1
        guard let key = EffectKey(bytes), let effect = StoredEffect(text, store.document) else { return true }
        return body(key, effect, text)
      }
    } catch { return done(.failure(error.requestError)) }
    guard let next else { return done(.success(())) }
    loop.onNextTick { [weak self] in self?.walk((next, range.upper), body, done: done) }
  }
}
