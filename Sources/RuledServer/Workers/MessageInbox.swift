import RuledCore
import RuledEngine
import RuledStore

/// The messages for one worker's subjects: it has a window on them in memory, the rest stands in the store alone.
///
/// As long as the window holds all there are, messages join it as they are committed. What finds it full stays in the store, and from then on
/// everything is read from there, in the order of the keys, until a walk through them has found nothing new: so none overtakes an earlier one to
/// its subject. Messages of plugins that have few go ahead of such a backlog, together with what was sent to their subjects before them. What is
/// found twice is applied once, since its key is gone by then.
final class MessageInbox {
  /// A message by its key.
  struct Entry {
    let subject: [UInt8]
    let sequence: UInt64
  }

  /// Bytes that are compared as keys of the store are.
  struct Key: Comparable {
    let bytes: [UInt8]

    static func < (left: Key, right: Key) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
  }

  /// How far the window is from holding all messages.
  enum Walk {
    /// It holds them all.
    case none
    /// Some stand in the store alone; whether those of plugins that have few are read first.
    case wanted(fewFirst: Bool)
    /// They are being read, from `position` on; some may have come before it meanwhile.
    case underWay(position: [UInt8], isDirty: Bool)
    /// Those of plugins that have few are being read.
    case fewUnderWay(position: [UInt8])
  }

  /// A subject whose first message can't be applied for now.
  private struct Hold {
    /// How often that was tried.
    var tries: Int
    /// When it is tried again; nil once that is due.
    var until: UInt64?
  }

  let worker: Int
  let services: Services
  let settings: Settings
  let evaluator: Evaluator
  var window = Queue()
  /// What goes ahead of the window.
  var express = Queue()
  var walk = Walk.none
  /// What a walk had to pass over, since the store can't read it, until it is tried again.
  var gaps: [Range<Key>] = []
  var gapsUntil: UInt64?
  /// How often such a try was in vain.
  var gapTries = 0
  private var refusals = 0
  /// Nothing is read or applied before then.
  var pausedUntil: UInt64 = 0
  private var held: [[UInt8]: Hold] = [:]
  /// The numbers of the messages that are applied and not yet settled.
  var unsettled: Set<UInt64> = []
  /// Who waits for which message.
  private var awaited: [UInt64: Cascade] = [:]
  /// How many messages of which plugin wait here.
  private var waiting: [ObjectIdentifier: (sender: MessageSender, count: Int)] = [:]
  var retries: ParkedWalk?
  private var endsAt: UInt64?
  private let key = ByteBuffer(capacity: 320)
  let document = EventDocument()

  /// The inbox of the worker of that number.
  init(of worker: Int, services: Services, evaluator: Evaluator, settings: Settings) {
    self.worker = worker
    self.services = services
    self.evaluator = evaluator
    self.settings = settings
  }

  var now: UInt64 { EngineClock.monotonic }

  var isWhole: Bool { if case .none = walk { true } else { false } }

  /// Whether there is anything to do, now or later.
  var hasWork: Bool {
    window.count > 0 || express.count > 0 || !isWhole || !held.isEmpty || !gaps.isEmpty || retries != nil
  }

  /// Takes up what an earlier process left in the store: so many messages of those plugins.
  func begin(_ found: [(sender: MessageSender, count: Int)]) {
    for (sender, count) in found { note(sender, count) }
    walk = .wanted(fewFirst: true)
  }

  /// Goes on with nothing but what clients wait for, and with that not for long: the rest stands in the store for the next start.
  func end() { endsAt = now + settings.endTime }

  /// Whether nothing more is applied for clients either.
  var hasEnded: Bool { endsAt.map { now >= $0 } ?? false }

  // MARK: What comes and goes

  /// Messages were committed.
  func add(_ messages: [CommitBatch.Message]) {
    for message in messages {
      if let sender = message.sender { note(sender, 1) }
      if let cascade = message.cascade { wait(cascade, for: message.sequence) }
      add(
        Entry(subject: message.subject, sequence: message.sequence),
        hasFew: (message.sender?.waiting ?? 0) <= settings.few)
    }
  }

  private func add(_ entry: Entry, hasFew: Bool) {
    guard !isHeld(entry.subject), gaps.isEmpty || !isInGap(entry) else { return }
    switch walk {
    case .none where window.count < settings.room: return window.append(entry)
    case .none: walk = .wanted(fewFirst: false)
    case .underWay(let position, false):
      key.removeAll()
      StoreKey.message(entry.subject, sequence: entry.sequence, into: key)
      if key.bytes.lexicographicallyPrecedes(position) { walk = .underWay(position: position, isDirty: true) }
    case .wanted, .fewUnderWay, .underWay: break
    }
    if hasFew, express.count < settings.room { expedite(entry) }
  }

  private func wait(_ cascade: Cascade, for sequence: UInt64) {
    if awaited.count < settings.mostAwaited { awaited[sequence] = cascade } else { cascade.lost() }
  }

  private func note(_ sender: MessageSender, _ change: Int) {
    sender.wait(change)
    waiting[ObjectIdentifier(sender), default: (sender, 0)].count += change
  }

  /// Messages that were applied are settled.
  func settled(_ messages: [CommitBatch.Message]) {
    guard !messages.isEmpty else { return }
    refusals = 0
    for message in messages {
      unsettled.remove(message.sequence)
      if let sender = message.sender { note(sender, -1) }
      guard let cascade = message.cascade else { continue }
      awaited[message.sequence] = nil
      cascade.ended()
    }
    settleCounts()
  }

  /// Corrects the counts when nothing can be waiting: what they still say was erased with its subject.
  private func settleCounts() {
    guard isWhole, gaps.isEmpty, window.count == 0, express.count == 0, unsettled.isEmpty else { return }
    if !held.isEmpty {
      held = held.filter { $0.value.until != nil }
      noteHeld()
      guard held.isEmpty else { return }
    }
    for (sender, count) in waiting.values where count != 0 { note(sender, -count) }
    for cascade in awaited.values { cascade.ended() }
    awaited.removeAll()
  }

  /// Messages that were applied are not settled, and stand in the store as before.
  func lost(_ messages: [CommitBatch.Message]) {
    guard !messages.isEmpty else { return }
    for message in messages { unsettled.remove(message.sequence) }
    refusals += 1
    pause(after: refusals)
  }

  /// Lets go of the window for a while; all of it stands in the store.
  private func pause(after tries: Int) {
    window.removeAll()
    express.removeAll()
    walk = .wanted(fewFirst: true)
    pausedUntil = now + settings.backoff.delay(after: tries) * 1_000_000
  }

  // MARK: Turns

  /// What is to come of a turn.
  enum Next {
    /// Nothing until something comes.
    case sleep
    /// Another turn at once.
    case again
    /// Another turn in so many milliseconds.
    case wait(UInt64)
  }

  /// Applies some messages, for as long as their share of the turn goes.
  func turn() -> Next {
    guard hasWork else { return .sleep }
    let start = now
    if let endsAt, awaited.isEmpty || start >= endsAt { return .sleep }
    guard pausedUntil <= start else { return Self.wait(from: start, to: pausedUntil) }
    releaseHolds(start)
    if window.count <= settings.room / 2 { load() }
    let isBusy = services.inFlight.load(ordering: .relaxed) > 0
    let end = start + (isBusy ? settings.busyTime : settings.idleTime)
    while mayApply, let entry = express.popFirst() ?? window.popFirst() {
      apply(entry)
      if now >= end { break }
    }
    if mayApply, retries != nil, now < end { retry(until: end) }
    settleCounts()
    if !evaluator.batch.isEmpty { return .again }
    if pausedUntil > start { return Self.wait(from: start, to: pausedUntil) }
    if window.count > 0 || express.count > 0 || !isWhole || retries != nil { return mayApply ? .again : .sleep }
    let next = (held.values.compactMap(\.until) + (gapsUntil.map { [$0] } ?? [])).min()
    return next.map { Self.wait(from: start, to: $0) } ?? .sleep
  }

  private static func wait(from start: UInt64, to end: UInt64) -> Next {
    .wait((max(end, start) - start) / 1_000_000 + 1)
  }

  /// Whether what is applied and not settled leaves room for more.
  private var mayApply: Bool {
    unsettled.count < settings.room && evaluator.inFlightCount < Self.mostUnits
      && evaluator.batch.writes.byteCount < Self.mostBytes
  }

  /// How many batches may be on their way to the disk while messages join another.
  private static let mostUnits = 16
  /// From how many bytes on a batch takes no more messages.
  private static let mostBytes = 4 << 20

  private func apply(_ entry: Entry) {
    guard !unsettled.contains(entry.sequence), !isHeld(entry.subject) else { return }
    let message = CommitBatch.Message(
      subject: entry.subject, sequence: entry.sequence, cascade: awaited[entry.sequence])
    do throws(RequestError) {
      if try evaluator.deliver(message) {
        unsettled.insert(entry.sequence)
      } else {
        awaited.removeValue(forKey: entry.sequence)?.ended()
      }
      if !held.isEmpty, held.removeValue(forKey: entry.subject) != nil {
        noteHeld()
        log(.info, "messages of a subject that were held back go on", entry.subject)
      }
    } catch { hold(entry.subject, error) }
  }

  // MARK: Holding back

  func isHeld(_ subject: [UInt8]) -> Bool { !held.isEmpty && held[subject]?.until != nil }

  /// Leaves a subject's messages in the store for a while, in their order; those of others go on.
  private func hold(_ subject: [UInt8], _ error: RequestError) {
    let tries = (held[subject]?.tries ?? 0) + 1
    held[subject] = Hold(tries: tries, until: now + settings.backoff.delay(after: tries) * 1_000_000)
    if tries == 1 {
      log(
        .error, "messages of a subject can't be applied and are held back, to be tried again: \(error.message)", subject
      )
    }
    noteHeld()
    guard held.count > settings.mostHeld else { return }
    held.removeAll()
    noteHeld()
    refusals += 1
    pause(after: refusals)
  }

  /// Has the messages of subjects read again that were held back for long enough.
  private func releaseHolds(_ time: UInt64) {
    guard !held.isEmpty || !gaps.isEmpty else { return }
    var isAnyDue = gapsUntil.map { $0 <= time } ?? false
    if isAnyDue {
      gaps.removeAll()
      gapsUntil = nil
    }
    for (subject, hold) in held {
      guard let until = hold.until, until <= time else { continue }
      held[subject]?.until = nil
      isAnyDue = true
    }
    guard isAnyDue else { return }
    switch walk {
    case .none: walk = .wanted(fewFirst: false)
    case .underWay(let position, _): walk = .underWay(position: position, isDirty: true)
    case .wanted, .fewUnderWay: break
    }
  }

  private func noteHeld() { services.figures[worker].heldSubjects.store(held.count, ordering: .relaxed) }

  func log(_ level: LogLine.Level, _ message: String, _ subject: [UInt8]? = nil) {
    services.context.log.write(LogLine(level, message, subjectHash: subject.map { OutboxService.hash($0) }))
  }
}
