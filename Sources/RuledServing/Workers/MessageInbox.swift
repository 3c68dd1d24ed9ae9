import RuledCore
import RuledEngine
import RuledJSON
import RuledStore

/// The messages for one worker's subjects: a window on them in memory, the others only in the store.
///
/// While the window holds all messages, new ones join it as they are committed. A message that finds the window full stays in the store. From then on
/// all messages are read from the store in the order of their keys, until a walk through them finds no new one, so that no message overtakes an
/// earlier one to its subject. Messages of a plugin that has few waiting go ahead of such a backlog, and of a window with those of a plugin that has
/// many waiting, together with the earlier messages to the same subject. A message that is found twice is applied once: its key is gone by then.
final class MessageInbox {
  struct Settings: Sendable {
    /// The most messages in the window, and the most that are applied and not yet durable.
    var capacity = 4_096
    /// The most waiting messages of a plugin whose next one goes ahead of a backlog.
    var expressLimit = 1_000
    /// The number of the store's keys read in a tick.
    var pageKeys = 2_000
    /// One in so many messages sets a mark, at which a page ends.
    var markDistance = 1_000
    /// How long messages are applied in a tick while clients wait for replies, in nanoseconds.
    var busyTime: UInt64 = 1_000_000
    /// How long messages are applied in a tick while no client waits, in nanoseconds.
    var idleTime: UInt64 = 4_000_000
    /// The waits in milliseconds between attempts at failed reads and commits.
    var backoff = Backoff(first: 200, longest: 60_000)
    /// The most delayed subjects; beyond that everything waits, as the store itself is at fault then.
    var delayedLimit = 1_024
    /// The most messages that are remembered as awaited by a client.
    var awaitedLimit = 65_536
    /// How long messages that clients wait for are applied when the daemon ends, in nanoseconds.
    var drainTime: UInt64 = 1_000_000_000
  }

  struct MessageKey {
    let subject: [UInt8]
    let sequence: UInt64
  }

  /// A key of the store, in the store's order.
  struct Key: Comparable {
    let bytes: [UInt8]

    static func < (left: Key, right: Key) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
  }

  /// The walk through the messages that the window does not hold.
  enum Walk {
    /// None is needed: the window holds all messages.
    case notNeeded
    /// One is to begin; with `expressFirst`, by messages of plugins that have few.
    case needed(expressFirst: Bool)
    /// It reads the messages from `position` on. If it is dirty, messages have come before `position` meanwhile.
    case reading(position: [UInt8], isDirty: Bool)
    /// It reads the messages of plugins that have few.
    case readingExpress(position: [UInt8])
  }

  let worker: Int
  let services: Services
  let settings: Settings
  let evaluator: Evaluator
  var window = MessageQueue()
  /// Messages that go ahead of the window.
  var express = MessageQueue()
  var walk = Walk.notNeeded
  /// The ends of a walk's pages.
  var marks: MessageMarks
  /// Unreadable ranges of keys that a walk skipped, until they are tried again.
  var gaps: [Range<Key>] = []
  var gapsUntil: UInt64?
  /// The number of failed tries in a row to read the gaps.
  var gapTries = 0
  /// The number of failed commits in a row.
  private var failures = 0
  var pausedUntil: UInt64 = 0
  var delayed = DelayedSubjects()
  /// The sequences of applied messages that are not durable yet.
  var uncommitted: Set<UInt64> = []
  /// The cascades that wait for messages, by sequence.
  var awaited: [UInt64: Cascade] = [:]
  private var waiting: [ObjectIdentifier: (sender: MessageSender, count: Int)] = [:]
  var retries: ParkedWalk?
  /// The plugins whose messages stay in the store until their parked messages have been made again: none overtakes an earlier one.
  private(set) var deferred: Set<String> = []
  /// The number of the last deferral.
  private(set) var deferral = 0
  var endsAt: UInt64?
  private let key = ByteBuffer(capacity: 320)
  let document = TapeDocument()

  init(of worker: Int, services: Services, evaluator: Evaluator, settings: Settings) {
    self.worker = worker
    self.services = services
    self.evaluator = evaluator
    self.settings = settings
    marks = MessageMarks(distance: settings.markDistance)
  }

  var now: UInt64 { EngineClock.monotonic }

  /// Whether the window holds all messages that can be read.
  var isWhole: Bool { if case .notNeeded = walk { true } else { false } }

  /// Whether there is anything to do, now or later.
  var hasWork: Bool {
    window.count > 0 || express.count > 0 || !isWhole || !delayed.isEmpty || !gaps.isEmpty || retries != nil
  }

  /// Begins with the messages that an earlier process left in the store: their number by plugin.
  func begin(_ found: [(sender: MessageSender, count: Int)]) {
    for (sender, count) in found { countWaiting(sender, count) }
    walk = .needed(expressFirst: true)
  }

  /// Defers the messages of plugins that changed, until a walk through the parked events that begins later has ended.
  func deferMessages(of plugins: Set<String>) {
    deferred.formUnion(plugins)
    deferral += 1
  }

  /// Ends a deferral, unless another one has begun since.
  func endDeferral(_ deferral: Int) {
    guard deferral == self.deferral, retries == nil else { return }
    deferred = []
    readAll()
  }

  /// Empties the window, which a walk through all messages in the store then fills.
  private func readAll() {
    window.removeAll()
    express.removeAll()
    walk = .needed(expressFirst: true)
  }

  /// From now on applies only messages that clients wait for, for `drainTime`; the others remain in the store for the next start.
  func end() { endsAt = now + settings.drainTime }

  /// Whether no message is applied any more, not even for clients.
  var hasEnded: Bool { endsAt.map { now >= $0 } ?? false }

  // MARK: Adding

  func add(_ messages: [CommitBatch.Message]) {
    let isCrowded = waiting.values.contains { $0.sender.waiting > settings.expressLimit }
    for message in messages {
      if let sender = message.sender { countWaiting(sender, 1) }
      if let cascade = message.cascade { noteAwaited(cascade, awaiting: message.sequence) }
      if marks.isDue() {
        marks.set(StoreKey.bytes { StoreKey.numbered(.message, message.subject, message.sequence, into: $0) })
      }
      add(
        MessageKey(subject: message.subject, sequence: message.sequence),
        isExpress: (message.sender?.waiting ?? 0) <= settings.expressLimit, isCrowded: isCrowded)
    }
  }

  /// Adds a message; `isExpress` tells that its plugin has few waiting, `isCrowded` that another plugin has many waiting.
  private func add(_ message: MessageKey, isExpress: Bool, isCrowded: Bool) {
    guard !delayed.contains(message.subject), gaps.isEmpty || !isInGap(message) else { return }
    switch walk {
    case .notNeeded where window.count < settings.capacity:
      window.append(message)
      guard isCrowded else { return }
    case .notNeeded: walk = .needed(expressFirst: false)
    case .reading(let position, false):
      key.removeAll()
      StoreKey.numbered(.message, message.subject, message.sequence, into: key)
      if key.bytes.lexicographicallyPrecedes(position) { walk = .reading(position: position, isDirty: true) }
    case .needed, .readingExpress, .reading: break
    }
    if isExpress, express.count < settings.capacity { expedite(message) }
  }

  func isOwn(_ subject: ByteView) -> Bool { services.worker(for: subject) == worker }

  private func noteAwaited(_ cascade: Cascade, awaiting sequence: UInt64) {
    if awaited.count < settings.awaitedLimit { awaited[sequence] = cascade } else { cascade.leave(isCommitted: false) }
  }

  private func countWaiting(_ sender: MessageSender, _ change: Int) {
    sender.wait(change)
    waiting[ObjectIdentifier(sender), default: (sender, 0)].count += change
  }

  // MARK: Commits

  /// Completes messages: the commit that applied them is durable.
  func removeApplied(_ messages: [CommitBatch.Message]) {
    guard !messages.isEmpty else { return }
    failures = 0
    for message in messages {
      uncommitted.remove(message.sequence)
      if let sender = message.sender { countWaiting(sender, -1) }
      guard let cascade = message.cascade else { continue }
      awaited[message.sequence] = nil
      cascade.leave()
    }
    resetCountsIfEmpty()
  }

  /// Restores messages: the commit that applied them has failed, and they are in the store as before.
  func restore(_ messages: [CommitBatch.Message]) {
    guard !messages.isEmpty else { return }
    for message in messages { uncommitted.remove(message.sequence) }
    pauseAfterFailure()
  }

  /// Corrects the counts when no message is left: messages that are still counted were erased together with their subject.
  func resetCountsIfEmpty() {
    guard isWhole, deferred.isEmpty, gaps.isEmpty, window.count == 0, express.count == 0, uncommitted.isEmpty
    else { return }
    if !delayed.isEmpty {
      delayed.removeDue()
      updateDelayedFigure()
      guard delayed.isEmpty else { return }
    }
    for (sender, count) in waiting.values where count != 0 { countWaiting(sender, -count) }
    for cascade in awaited.values { cascade.leave() }
    awaited.removeAll()
  }

  /// Empties the window and waits; the messages are in the store.
  func pauseAfterFailure() {
    failures += 1
    readAll()
    pausedUntil = now + settings.backoff.delay(after: failures) * 1_000_000
  }

  func updateDelayedFigure() { services.figures[worker].delayedSubjects.store(delayed.count, ordering: .relaxed) }

  func log(_ level: LogLine.Level, _ message: String, _ subject: [UInt8]? = nil) {
    services.log.write(LogLine(level, message, subjectHash: subject.map { LogLine.hash(of: $0) }))
  }
}
