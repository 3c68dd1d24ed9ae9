import RuledCore
import RuledEngine
import RuledStore

/// Reading what stands in the store: messages that are not in the window, and parked parts that are to be tried again.
extension MessageInbox {
  /// Reads a page of the messages that the window does not hold.
  func load() {
    let start = StoreKey.prefix(.message)
    if case .wanted(let fewFirst) = walk {
      walk = fewFirst ? .fewUnderWay(position: start) : .underWay(position: start, isDirty: false)
    }
    do throws(StoreError) {
      switch walk {
      case .none, .wanted: return
      case .fewUnderWay(let position):
        let next = try load(from: position, onlyFew: true)
        walk = next.map { .fewUnderWay(position: $0) } ?? .underWay(position: start, isDirty: false)
      case .underWay(let position, let isDirty):
        let next = try load(from: position, onlyFew: false)
        let end = isDirty ? Walk.wanted(fewFirst: false) : .none
        walk = next.map { .underWay(position: $0, isDirty: isDirty) } ?? end
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
  ///
  /// With `onlyFew`, a plugin's of which many wait are left, and all behind it to the same subject.
  private func load(from position: [UInt8], onlyFew: Bool) throws(StoreError) -> [UInt8]? {
    var next: [UInt8]?
    var seen = 0
    var passed: [UInt8] = []
    try services.context.store.scan(from: position, to: StoreKey.upperBound(StoreKey.prefix(.message))) { key, value in
      guard case .message(let subject, let sequence)? = try? ParsedKey(key) else { return true }
      let isPassed = !passed.isEmpty && subject.elementsEqual(passed)
      guard seen < settings.page, window.count < settings.room else {
        next = isPassed ? Self.key(behind: passed) : Array(key)
        return false
      }
      seen += 1
      guard !isPassed, services.owner(of: subject) == worker, !unsettled.contains(sequence) else { return true }
      let entry = Entry(subject: Array(subject), sequence: sequence)
      if isHeld(entry.subject) {
        next = Self.key(behind: entry.subject)
        return false
      }
      if onlyFew, services.context.senders[document.sender(of: value)].waiting > settings.few {
        passed = entry.subject
        return true
      }
      window.append(entry)
      return true
    }
    return next
  }

  /// The least key above those of a subject's messages.
  private static func key(behind subject: [UInt8]) -> [UInt8]? {
    StoreKey.upperBound(StoreKey.bytes { StoreKey.subjectPrefix(.message, subject, into: $0) })
  }

  /// Lets a message go ahead of a backlog together with those to its subject that come before it, unless these are many.
  func expedite(_ entry: Entry) {
    var found: [Entry] = []
    var isReached = false
    let prefix = StoreKey.bytes { StoreKey.subjectPrefix(.message, entry.subject, into: $0) }
    try? services.context.store.scan(prefix: prefix) { key, _ in
      guard case .message(_, let sequence)? = try? ParsedKey(key), sequence <= entry.sequence else { return false }
      isReached = sequence == entry.sequence
      if !unsettled.contains(sequence) { found.append(Entry(subject: entry.subject, sequence: sequence)) }
      return !isReached && found.count < Self.mostAhead
    }
    if isReached { for entry in found { express.append(entry) } }
  }

  /// How many messages to the same subject may go ahead of a backlog together.
  private static let mostAhead = 64

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
