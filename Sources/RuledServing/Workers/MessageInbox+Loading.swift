import RuledCore
import RuledEngine
import RuledStore

/// Reading from the store: messages outside the window, and parked events to try again.
extension MessageInbox {
  /// Reads pages of the messages that the window does not hold: one, and more until the time `end` while these hold none.
  func readPages(until end: UInt64) {
    repeat { readPage() } while window.count == 0 && !isWhole && now < end
  }

  private func readPage() {
    let start = StoreKey.prefix(.message)
    if case .needed(let expressFirst) = walk {
      walk = expressFirst ? .readingExpress(position: start) : .reading(position: start, isDirty: false)
    }
    switch walk {
    case .notNeeded, .needed: return
    case .readingExpress(let position):
      let next = readPage(from: position, isExpress: true)
      walk = next.map { .readingExpress(position: $0) } ?? .reading(position: start, isDirty: false)
    case .reading(let position, let isDirty):
      guard let next = readPage(from: position, isExpress: false) else { return endWalk(isDirty: isDirty) }
      walk = .reading(position: next, isDirty: isDirty)
    }
  }

  private func endWalk(isDirty: Bool) {
    walk = isDirty ? .needed(expressFirst: false) : .notNeeded
    if !gaps.isEmpty, gapsUntil == nil {
      gapTries += 1
      gapsUntil = now + settings.backoff.delay(after: gapTries) * 1_000_000
    } else if gaps.isEmpty, gapTries > 0, !isDirty {
      gapTries = 0
      log(.info, "all messages can be read from the store again")
    }
    services.figures[worker].failsToRead.store(gapTries > 0, ordering: .relaxed)
  }

  /// Reads a page of messages from `position` on, and skips unreadable ones.
  ///
  /// Returns the position of the next page, nil at the end.
  private func readPage(from position: [UInt8], isExpress: Bool) -> [UInt8]? {
    var last: [UInt8]?
    do throws(StoreError) {
      return try load(from: position, isExpress: isExpress, last: &last)
    } catch {
      if gapTries == 0, gaps.isEmpty {
        log(.error, "messages can't be read from the store, which is tried again; others go on: \(error)")
        services.figures[worker].failsToRead.store(true, ordering: .relaxed)
      }
      let unreadable = last.map { $0 + [0] } ?? position
      let end = StoreKey.upperBound(StoreKey.prefix(.message)) ?? []
      let next = nextSubject(behind: unreadable, before: end)
      gaps.append(Key(bytes: unreadable)..<Key(bytes: next))
      return next == end ? nil : next
    }
  }

  /// The first key of the next subject all of whose messages come after the unreadable ones: none is applied before one that can't be read.
  private func nextSubject(behind unreadable: [UInt8], before end: [UInt8]) -> [UInt8] {
    let store = services.context.store
    var subject: [UInt8]?
    let note: (UnreadableKeys) -> Void = { range in
      range.before?.withView { if case .message(let found, _)? = try? ParsedKey($0) { subject = Array(found) } }
    }
    try? store.scan(from: unreadable, to: end, skipping: note) { _, _ in false }
    guard let subject else { return end }
    let start = StoreKey.prefix(.message, of: subject)
    // A search from the subject's first possible key meets the damage if it reaches that far.
    let isWhole =
      !start.lexicographicallyPrecedes(unreadable) && (try? store.scan(from: start, to: end) { _, _ in false }) != nil
    return isWhole ? start : Self.keyAfterMessages(to: subject) ?? end
  }

  /// Whether a walk had to skip a message.
  func isInGap(_ message: MessageKey) -> Bool {
    let key = Key(bytes: StoreKey.bytes { StoreKey.numbered(.message, message.subject, message.sequence, into: $0) })
    return gaps.contains { $0.contains(key) }
  }

  /// Adds messages from `position` on to the window while it has room, up to the next of `marks`.
  ///
  /// Returns the position of the next page, nil at the end; `last` gets the last key read.
  /// With `isExpress`, it skips messages of plugins that have many waiting, and all later messages to the same subjects.
  private func load(from position: [UInt8], isExpress: Bool, last: inout [UInt8]?) throws(StoreError) -> [UInt8]? {
    let mark = marks.first(after: position)
    var next: [UInt8]?
    var count = 0
    var skipped: [UInt8] = []
    let end = mark ?? StoreKey.upperBound(StoreKey.prefix(.message))
    try services.context.store.scan(from: position, to: end) { key, value in
      last = Array(key)
      guard case .message(let subject, let sequence)? = try? ParsedKey(key) else { return true }
      let isSkipped = !skipped.isEmpty && subject.elementsEqual(skipped)
      guard count < settings.pageKeys, window.count < settings.capacity else {
        next = isSkipped ? Self.keyAfterMessages(to: skipped) : Array(key)
        return false
      }
      count += 1
      guard !isSkipped, isOwn(subject), !uncommitted.contains(sequence) else { return true }
      let message = MessageKey(subject: Array(subject), sequence: sequence)
      if delayed.contains(message.subject) {
        next = Self.keyAfterMessages(to: message.subject)
        return false
      }
      if isExpress, services.context.senders[document.sender(of: value)].waiting > settings.expressLimit {
        skipped = message.subject
        return true
      }
      window.append(message)
      return true
    }
    guard next == nil, let mark else { return next }
    // The later messages of a skipped subject are skipped too.
    return max(Key(bytes: mark), Key(bytes: Self.keyAfterMessages(to: skipped) ?? mark)).bytes
  }

  private static func keyAfterMessages(to subject: [UInt8]) -> [UInt8]? {
    StoreKey.upperBound(StoreKey.prefix(.message, of: subject))
  }

  /// Lets a message go ahead of a backlog together with the earlier messages to its subject, unless these are more than `expeditedLimit`.
  func expedite(_ message: MessageKey) {
    var found: [MessageKey] = []
    var isReached = false
    let prefix = StoreKey.prefix(.message, of: message.subject)
    try? services.context.store.scan(prefix: prefix) { key, _ in
      guard case .message(_, let sequence)? = try? ParsedKey(key), sequence <= message.sequence else { return false }
      isReached = sequence == message.sequence
      if !uncommitted.contains(sequence) { found.append(MessageKey(subject: message.subject, sequence: sequence)) }
      return !isReached && found.count < Self.expeditedLimit
    }
    if isReached { for message in found { express.append(message) } }
  }

  /// The most messages to one subject that go ahead of a backlog together.
  private static let expeditedLimit = 64

  struct ParkedWalk {
    var position = StoreKey.prefix(.parked)
    /// Events parked with this sequence or a later one are not tried.
    let before: UInt64
    /// The number of the deferral that ends with it.
    let deferral: Int
  }

  /// Tries the events that were parked before a sequence, and whose plugins have changed since, again: some in each tick, as messages are applied.
  ///
  /// An event that fails again is parked with the present rules, so that it is tried once, also where a restart interrupts the walk.
  func retryParked(before: UInt64, ending deferral: Int) { retries = ParkedWalk(before: before, deferral: deferral) }

  /// Whether the plugin of a stored parked event is in force with other rules than those that failed on it.
  private func hasOtherRules(_ parked: ByteView, of subject: [UInt8]) -> Bool {
    guard let failed = document.rules(of: parked) else { return false }
    let plugin = evaluator.deciding(for: subject).catalog.plugin(failed.plugin)
    return plugin.map { $0.digest != failed.digest } ?? false
  }

  /// Tries some parked events again, until the time `end`, but one at least.
  func retryParked(until end: UInt64) {
    guard let walk = retries else { return }
    var found: [ParkedKey] = []
    var next: [UInt8]?
    var count = 0
    do throws(StoreError) {
      try services.context.store.scan(from: walk.position, to: StoreKey.upperBound(StoreKey.prefix(.parked))) {
        key, value in
        guard count < settings.pageKeys, found.count < Self.retryLimit else {
          next = Array(key)
          return false
        }
        count += 1
        guard case .parked(let subject, let sequence)? = try? ParsedKey(key), isOwn(subject),
          sequence < walk.before
        else { return true }
        let parked = ParkedKey(subject: Array(subject), sequence: sequence)
        if hasOtherRules(value, of: parked.subject) { found.append(parked) }
        return true
      }
    } catch { log(.error, "parked events can't be read from the store, so not all were tried again: \(error)") }
    for (index, parked) in found.enumerated() {
      guard index == 0 || now < end else {
        next = StoreKey.bytes { StoreKey.numbered(.parked, parked.subject, parked.sequence, into: $0) }
        break
      }
      _ = try? evaluator.retry(parked)
    }
    if let next { retries?.position = next } else { endRetries(walk.deferral) }
  }

  /// Ends the deferral once the messages that the walk has made again are durable, and so in the window.
  private func endRetries(_ deferral: Int) {
    retries = nil
    guard !deferred.isEmpty else { return }
    let (services, worker) = (services, worker)
    evaluator.batch.awaited.append(Cascade { _ = services.workers[worker].send(.endDeferral(deferral)) })
  }

  /// The number of parked events read at a time.
  private static let retryLimit = 64
}

/// Messages in the order in which they are to be applied.
struct MessageQueue {
  private var messages: [MessageInbox.MessageKey] = []
  private var head = 0

  var count: Int { messages.count - head }

  mutating func append(_ message: MessageInbox.MessageKey) { messages.append(message) }

  mutating func popFirst() -> MessageInbox.MessageKey? {
    guard head < messages.count else { return nil }
    let message = messages[head]
    head += 1
    if head == messages.count || (head > 1024 && head * 2 > messages.count) {
      messages.removeFirst(head)
      head = 0
    }
    return message
  }

  mutating func removeAll() {
    messages.removeAll()
    head = 0
  }
}

/// Keys of some messages, at which pages end.
///
/// A read also passes applied messages that the store has not dropped yet: without marks, a million of them stop the worker for a second.
struct MessageMarks {
  private var keys: [[UInt8]] = []
  private var unmarked = 0
  private let distance: Int

  /// The most marks; a random one gives way to the next.
  private static let most = 2_048

  /// Marks at one in so many messages.
  init(distance: Int) { self.distance = distance }

  /// Whether to set a mark at the next message.
  mutating func isDue() -> Bool {
    unmarked += 1
    guard unmarked >= distance else { return false }
    unmarked = 0
    return true
  }

  mutating func set(_ key: [UInt8]) {
    if keys.count == Self.most { keys.remove(at: Int.random(in: 0..<Self.most)) }
    keys.insert(key, at: index(after: key))
  }

  func first(after key: [UInt8]) -> [UInt8]? {
    let index = index(after: key)
    return index < keys.count ? keys[index] : nil
  }

  private func index(after key: [UInt8]) -> Int {
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if key.lexicographicallyPrecedes(keys[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
