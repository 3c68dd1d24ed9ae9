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
    switch walk {
    case .none, .wanted: return
    case .fewUnderWay(let position):
      let next = page(from: position, onlyFew: true)
      walk = next.map { .fewUnderWay(position: $0) } ?? .underWay(position: start, isDirty: false)
    case .underWay(let position, let isDirty):
      guard let next = page(from: position, onlyFew: false) else { return ended(isDirty: isDirty) }
      walk = .underWay(position: next, isDirty: isDirty)
    }
  }

  private func ended(isDirty: Bool) {
    walk = isDirty ? .wanted(fewFirst: false) : .none
    if !gaps.isEmpty, gapsUntil == nil {
      gapTries += 1
      gapsUntil = now + settings.backoff.delay(after: gapTries) * 1_000_000
    } else if gaps.isEmpty, gapTries > 0 {
      gapTries = 0
      log(.info, "all messages can be read from the store again")
    }
    services.figures[worker].failsToRead.store(gapTries > 0, ordering: .relaxed)
  }

  /// Takes a page of messages; gives where to go on, nil at the end.
  ///
  /// What can't be read is passed over.
  private func page(from position: [UInt8], onlyFew: Bool) -> [UInt8]? {
    var last: [UInt8]?
    do throws(StoreError) {
      return try load(from: position, onlyFew: onlyFew, last: &last)
    } catch {
      if gapTries == 0, gaps.isEmpty {
        log(.error, "messages can't be read from the store, which is tried again; others go on: \(error)")
        services.figures[worker].failsToRead.store(true, ordering: .relaxed)
      }
      let unreadable = last.map { $0 + [0] } ?? position
      let end = StoreKey.upperBound(StoreKey.prefix(.message)) ?? []
      let next = wholeSubject(from: firstReadable(behind: unreadable, before: end), before: end)
      gaps.append(Key(bytes: unreadable)..<Key(bytes: next))
      return next == end ? nil : next
    }
  }

  /// The first place from which on keys can be read, about: found by halving.
  private func firstReadable(behind unreadable: [UInt8], before end: [UInt8]) -> [UInt8] {
    var low = Self.padded(unreadable)
    var high = Self.padded(end)
    while true {
      let middle = Self.middle(of: low, and: high)
      if middle == low { break }
      if isReadable(from: middle, to: end) { high = middle } else { low = middle }
    }
    return high == Self.padded(end) ? end : high
  }

  /// Where the next subject begins that lies behind `place` with all its messages: none is applied before one that can't be read.
  private func wholeSubject(from place: [UInt8], before end: [UInt8]) -> [UInt8] {
    var next = place
    try? services.context.store.scan(from: place, to: end) { key, _ in
      guard case .message(let subject, _)? = try? ParsedKey(key) else { return false }
      let start = StoreKey.bytes { StoreKey.subjectPrefix(.message, subject, into: $0) }
      if start.lexicographicallyPrecedes(place) { next = Self.key(behind: Array(subject)) ?? end }
      return false
    }
    return next
  }

  private func isReadable(from key: [UInt8], to end: [UInt8]) -> Bool {
    do throws(StoreError) {
      try services.context.store.scan(from: key, to: end) { _, _ in false }
      return true
    } catch { return false }
  }

  /// How many bytes of a key are told apart when it is looked for what can be read.
  private static let toldApart = 64

  private static func padded(_ key: [UInt8]) -> [UInt8] {
    Array(key.prefix(toldApart)) + Array(repeating: 0, count: max(0, toldApart - key.count))
  }

  private static func middle(of low: [UInt8], and high: [UInt8]) -> [UInt8] {
    var sum = Array(repeating: UInt16(0), count: low.count)
    var carry: UInt16 = 0
    for place in low.indices.reversed() {
      let digit = UInt16(low[place]) + UInt16(high[place]) + carry
      sum[place] = digit & 0xFF
      carry = digit >> 8
    }
    return sum.map { digit in
      defer { carry = digit & 1 }
      return UInt8((carry << 7) | (digit >> 1))
    }
  }

  /// Whether a message is one of those that a walk had to pass over.
  func isInGap(_ entry: Entry) -> Bool {
    let key = Key(bytes: StoreKey.bytes { StoreKey.message(entry.subject, sequence: entry.sequence, into: $0) })
    return gaps.contains { $0.contains(key) }
  }

  /// Takes messages from `position` on, as many as the window has room for; gives where to go on, nil at the end.
  ///
  /// With `onlyFew`, a plugin's of which many wait are left, and all behind it to the same subject.
  private func load(from position: [UInt8], onlyFew: Bool, last: inout [UInt8]?) throws(StoreError) -> [UInt8]? {
    var next: [UInt8]?
    var seen = 0
    var passed: [UInt8] = []
    try services.context.store.scan(from: position, to: StoreKey.upperBound(StoreKey.prefix(.message))) { key, value in
      last = Array(key)
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
          sequence < walk.before, let plugin = document.plugin(of: value), walk.plugins.contains(plugin)
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
