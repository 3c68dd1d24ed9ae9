import RuledCore
import RuledEngine
import RuledStore

/// Reading what stands in the store: messages that are not in the window, and parked parts that are to be tried again.
extension MessageInbox {
  /// Reads a page of the messages that the window does not hold.
  func load() {
    if case .wanted = walk { walk = .underWay(position: StoreKey.prefix(.message), isDirty: false) }
    guard case .underWay(let position, let isDirty) = walk else { return }
    do throws(StoreError) {
      if let next = try load(from: position) {
        walk = .underWay(position: next, isDirty: isDirty)
      } else {
        walk = isDirty ? .wanted : .none
      }
      if walkFailures > 0 { log(.info, "messages can be read from the store again") }
      walkFailures = 0
    } catch {
      walkFailures += 1
      if walkFailures == 1 { log(.error, "messages can't be read from the store, which is tried again: \(error)") }
      pausedUntil = now + settings.backoff.delay(after: walkFailures) * 1_000_000
    }
    services.figures[worker].failsToRead.store(walkFailures > 0, ordering: .relaxed)
  }

  /// Takes messages from `position` on, as many as the window has room for; gives where to go on, nil at the end.
  private func load(from position: [UInt8]) throws(StoreError) -> [UInt8]? {
    var next: [UInt8]?
    var seen = 0
    try services.context.store.scan(from: position, to: StoreKey.upperBound(StoreKey.prefix(.message))) { key, _ in
      guard seen < settings.page, count < settings.room else {
        next = Array(key)
        return false
      }
      seen += 1
      guard case .message(let subject, let sequence)? = try? ParsedKey(key), services.owner(of: subject) == worker,
        !unsettled.contains(sequence)
      else { return true }
      let entry = Entry(subject: Array(subject), sequence: sequence)
      if isHeld(entry.subject) {
        next = StoreKey.upperBound(StoreKey.bytes { StoreKey.subjectPrefix(.message, entry.subject, into: $0) })
        return false
      }
      window.append(entry)
      return true
    }
    return next
  }

  // MARK: Parked parts

  /// A walk through what is parked for some plugins.
  struct ParkedWalk {
    var plugins: Set<String>
    var position = StoreKey.prefix(.parked)
    /// What is parked from then on is not tried.
    let before: UInt64
  }

  /// Tries again, once, what is parked for plugins: some in each turn, as for messages.
  func retry(_ plugins: Set<String>) {
    retries = ParkedWalk(
      plugins: plugins.union(retries?.plugins ?? []), before: services.context.nextSequence())
  }

  /// Tries some parked parts again, until that time.
  func retry(until end: UInt64) {
    guard let walk = retries else { return }
    var found: [ParkedKey] = []
    var next: [UInt8]?
    var seen = 0
    do throws(StoreError) {
      try services.context.store.scan(from: walk.position, to: StoreKey.upperBound(StoreKey.prefix(.parked))) {
        key, value in
        guard seen < settings.page, found.count < Self.retriesAtOnce else {
          next = Array(key)
          return false
        }
        seen += 1
        guard case .parked(let subject, let sequence)? = try? ParsedKey(key), services.owner(of: subject) == worker,
          sequence < walk.before, let plugin = Evaluator.parkedPlugin(value), walk.plugins.contains(plugin)
        else { return true }
        found.append(ParkedKey(subject: Array(subject), sequence: sequence))
        return true
      }
    } catch {
      log(.error, "parked events can't be read from the store, so not all were tried again: \(error)")
    }
    for (place, parked) in found.enumerated() {
      guard place == 0 || now < end else {
        next = StoreKey.bytes { StoreKey.parked(parked.subject, sequence: parked.sequence, into: $0) }
        break
      }
      _ = try? evaluator.retry(parked)
    }
    if let next { retries?.position = next } else { retries = nil }
  }

  /// How many parked parts are found at once.
  private static let retriesAtOnce = 64
}
