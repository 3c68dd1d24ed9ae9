package import RuledCore
package import RuledEngine
package import RuledJournal
package import RuledLua
package import RuledStore

/// Replays events under given rules: a store, a clock and an order of events, over the same engine as the daemon's.
///
/// Nothing leaves it: effects are listed in outcomes only, and messages and timers happen inside. It belongs to one thread.
///
/// **With a recorded history**, entries are replayed in the recorded order. A message or a timer of this world that the record also has
/// happens when the record says. A recorded one that this world does not have does not happen. One that only this world has happens when
/// the daemon would do it: a message right after its sender's event and after all that the sender sent to the same subject before, a timer when it
/// is due. A message to a subject that the record erases later does not happen, as the record has nothing of the subject from before.
/// docs/decisions/33 describes the entries and the imposed failures.
///
/// **Without one**, the entries are events of clients, and are evaluated as if they came in at their `at`: repeats are recognized, messages
/// follow their sender's event, and timers fire when they are due.
package final class World {
  /// The most messages that may follow from one entry; more are taken for an endless loop.
  private static let mostSteps = 1_000_000
  /// The size in bytes from which on a batch of writes is committed.
  private static let batchBytes = 1 << 20

  /// Whether recorded failures of a plugin that depend on the machine are imposed: time or memory ran out, or the plugin was
  /// suspended, or put off for the subject.
  ///
  /// True for all plugins by default; set it to false for plugins whose rules differ from the recorded ones.
  var isImposed: (_ plugin: String) -> Bool = { _ in true }
  /// Whether a subject's events happen in this world, and not in another one of the same side, whose memberships it does not know; nil if it has all.
  var isHere: ((_ subject: String) -> Bool)?
  /// Whether a message was sent to a subject of another world, which has missed it: entries that were played since then may be wrong.
  private var hasMissedMessage = false
  /// The world of the recorded rules, which has played each entry before: the members of its topics are the recorded ones.
  ///
  /// Nil if this is that world, or if there is none.
  weak var original: World?
  /// How many messages of each key publications have made since the entry that was played last.
  private var published: [UInt64: Int] = [:]

  private let context: EngineContext
  let evaluator: Evaluator
  private var recorded: RecordedHistory?
  private let spare = SpareVMs()
  private let recorder = EventRecorder()
  private let reader = EntryReader()
  /// The messages of this world that wait for their recorded counterpart.
  private var waiting = WaitingMessages()
  /// The ids, by their hashes, of the messages of publications that are under way in the base, and of messages sent behind these.
  ///
  /// The base does not have these messages yet: only the record does.
  private var underWay: Set<UInt64> = []
  /// The messages that only this world has, which are delivered next.
  private var ownMessages: [CommitBatch.Message] = []
  private var firstOwnMessage = 0
  /// The timers that only this world has.
  private var ownTimers = OwnTimers()
  /// Those of them that are due, and whose plugin is not in force.
  private var waitingTimers: [DueTimer] = []
  /// The subjects whose history differs from the record, by the hash of the name.
  private var diverged: Set<UInt64> = []
  private var sequence: UInt64 = 0

  /// A world that begins with `base`, which it changes, and with rules that no other engine uses, since a catalog counts failures.
  ///
  /// `lua` is the calling thread's worker, and `recorded` has the messages and timers among the entries to be played; nil if all are events of
  /// clients. The instructions of rules are counted for events whose seed has no bit in common with `costMask`: 0 for all, 15 for one in 16; with
  /// nil, not even the rules that ran are listed. Throws when the base can't be read.
  package init(
    rules: Catalog, lua: LuaWorker, base: any StateStore = MemoryStore(), configuration: Configuration = .init(),
    recorded: RecordedHistory?, costMask: UInt64? = nil
  ) throws(RequestError) {
    self.recorded = recorded
    context = EngineContext(
      store: base, clock: EngineClock(manual: Timestamp(microseconds: 0)), configuration: configuration, log: NoLog(),
      keepsEffects: false)
    do throws(StoreError) { try StoredTime.resume(context) } catch { throw error.requestError }
    evaluator = Evaluator(
      context: context, catalog: rules, lua: lua, cacheBytes: configuration.limits.cacheMiB << 20,
      worker: context.nextSequence())
    evaluator.recorder = recorder
    evaluator.omitChanges()
    evaluator.allowSlowness()
    if let costMask { evaluator.recordCosts(mask: costMask) }
    context.steps.note(rules)
    do throws(StoreError) {
      try context.steps.load(from: base)
      _ = try context.counters.load(from: context)
      try context.boards.load(from: context, holdingPlaces: false)
      try findMessages()
      try base.scan(prefix: StoreKey.prefix(.publication)) { _, value in
        underWay.insert(reader.id(ofPublication: Array(value)).nameHash)
        return true
      }
      if recorded == nil {
        for timer in try StoreListing.timers(context, now: .max, limit: .max).due { note(timer) }
      }
    } catch { throw error.requestError }
  }

  var rules: Catalog { evaluator.catalog }

  /// Puts other rules in force, from the next entry on; `init` says which catalogs it may take.
  package func adopt(_ rules: Catalog) {
    guard rules !== evaluator.catalog else { return }
    note(rules)
    spare.adopt(rules, in: evaluator)
    for timer in waitingTimers { ownTimers.add(timer) }
    waitingTimers.removeAll()
  }

  /// Notes rules that may have stored states, so that these can go back to an earlier version.
  func note(_ rules: Catalog) { context.steps.note(rules) }

  /// Continues with another part of the record, whose messages and timers replace those of the part before.
  func expect(_ history: RecordedHistory) throws(RequestError) {
    try commit()
    recorded = history
    do throws(StoreError) { try findMessages() } catch { throw error.requestError }
  }

  // MARK: Playing

  /// Plays an entry, after the timers of this world alone that are due by then.
  ///
  /// - Returns: the events that happened, in order; without the entry itself if it does not happen in this world.
  package func play(_ entry: JournalEntry) throws(RequestError) -> [Played] {
    if !published.isEmpty { published.removeAll() }
    var played = try pass(entry)
    switch entry.origin {
    case .rules: return played
    case .forget, .kept:
      // An erasure looks through all that is not committed.
      try commit()
      if entry.origin == .kept {
        try evaluator.give(kept: entry)
        waiting.keep(entry.subject)
      } else {
        try evaluator.forget(entry.subject)
        waiting.erase(entry.subject)
      }
      diverged.remove(entry.subject.nameHash)
      return played
    case .client, .message, .timer, .retry: break
    }
    try perform(.recorded(entry), &played) { (world) throws(RequestError) in
      try world.evaluator.imposing(world.imposedFailures(of: entry)) { () throws(RequestError) in
        try world.replay(entry)
      }
    }
    try deliverOwnMessages(&played)
    try commitLargeBatch()
    return played
  }

  /// Advances to the time of an entry of another world of the same side: fires the timers of this world alone that are due by then.
  func pass(_ entry: JournalEntry) throws(RequestError) -> [Played] {
    var played: [Played] = []
    try fireOwnTimers(until: entry.at, &played)
    sequence = entry.sequence
    context.clock.set(entry.now)
    return played
  }

  /// Ends the range that was played: fires those timers that only this world has and that are due by `end`.
  package func finish(at end: Timestamp) throws(RequestError) -> [Played] {
    var played: [Played] = []
    try fireOwnTimers(until: end, &played)
    try commit()
    return played
  }

  /// Evaluates an entry's event if it happens in this world; the recorder then has the outcome.
  private func replay(_ entry: JournalEntry) throws(RequestError) {
    switch entry.origin {
    case .client: _ = try evaluator.replay(entry, recorded == nil ? .asSent : .asRecorded)
    case .message: try deliver(entry)
    case .timer:
      guard let due = reader.due(entry.event) else { return }
      try evaluator.fire(
        DueTimer(
          due: due, subject: Array(entry.subject.utf8), plugin: Array(entry.plugin.utf8), name: Array(entry.timer.utf8))
      )
    case .retry:
      let subject = Array(entry.subject.utf8)
      let parts = try evaluator.parkedParts(of: subject, plugin: entry.plugin, event: entry.event)
      if let part = parts.first { _ = try evaluator.retry(part) }
    case .forget, .kept, .rules: break
    }
  }

  private func deliver(_ entry: JournalEntry) throws(RequestError) {
    guard let text = reader.message(entry.event) else { return }
    let isUnderWay = !underWay.isEmpty && underWay.contains(text.id.nameHash)
    let sender = isUnderWay ? .absent : recorded?.sender(of: text, at: entry.sequence) ?? .known
    while let (message, own, isParked, isKept) = waiting.take(
      text, orAnother: { [recorded] id in sender != .absent && recorded?.isReserved(id) != true })
    {
      if isParked { _ = try evaluator.retry(ParkedKey(subject: message.subject, sequence: message.sequence)) }
      if own.id != text.id || own.mayPublish != text.mayPublish, var stored = try evaluator.text(of: message) {
        stored = stored.replacing(id: own.id, with: text.id)
        if let mine = own.mayPublish, let recorded = text.mayPublish {
          stored = stored.replacing(mayPublish: mine, with: recorded)
        }
        try evaluator.replace(message, with: stored)
      }
      defer { if !isParked { ownMessages += waiting.release(behind: message, text) } }
      if try evaluator.deliver(message) == .applied { return }
      // An erasure does not see a message whose batch is committed between its evaluation and its own commit.
      if isKept || own.id == text.id && recorded?.isErased(entry.subject) == true {
        _ = try evaluator.replay(entry)
        return
      }
    }
    if sender != .known { _ = try evaluator.replay(entry) }
  }

  /// The failures of a recorded event that were the machine's doing.
  private func imposedFailures(of entry: JournalEntry) -> [Failure] {
    guard !entry.failures.isEmpty, recorded != nil else { return [] }
    let failures = JournalEntry.list(entry.failures).arrayValue ?? []
    return failures.compactMap { Failure(json: $0) }.filter { $0.isOfMachine && isImposed($0.plugin) }
  }

  // MARK: Explaining and showing

  /// Explains a recorded event as if it happened now, without changing anything.
  ///
  /// - Returns: its outcome with the trace, as the protocol's `event` returns it.
  func explain(_ entry: JournalEntry) throws(RequestError) -> JSONValue {
    let outcome = try evaluator.imposing(imposedFailures(of: entry)) { () throws(RequestError) in
      try evaluator.replay(entry, .explaining)
    }
    return (try? JSONValue(parsing: outcome.bytes)) ?? .null
  }

  /// Plays a recorded event and explains it.
  ///
  /// - Returns: its outcome with the trace, as the protocol's `event` returns it; nil if the event does not happen in this world.
  ///
  /// The trace has the values that rules read unless it `omitsValues`.
  func playExplained(_ entry: JournalEntry, omitsValues: Bool = false) throws(RequestError) -> JSONValue? {
    recorder.explanation = omitsValues ? .withoutValues : .whole
    defer { recorder.explanation = .none }
    guard let made = try play(entry).first(where: \.isRecorded)?.entry else { return nil }
    var outcome: JSONObject = [
      "subject": .string(entry.subject), "id": .string(entry.eventID), "duplicate": false,
      "version": .integer(Int64(clamping: made.version)), "revision": .string(made.revision),
    ]
    for member in made.outcome { outcome[member.name] = member.value }
    outcome["trace"] = JournalEntry.list(recorder.trace)
    return .object(outcome)
  }

  /// A subject as it is now: `{subject, version, plugins}`.
  package func state(of subject: String) throws(RequestError) -> JSONValue { try evaluator.state(of: subject) }

  // MARK: Events

  /// Runs `body`, which evaluates an event, and notes its outcome, its messages and its timers.
  private func perform(
    _ cause: PlayedCause, _ played: inout [Played], _ body: (World) throws(RequestError) -> Void
  ) throws(RequestError) {
    let entry: JournalEntry? = if case .recorded(let entry) = cause { entry } else { nil }
    let batch = evaluator.batch
    let mark = batch.mark
    let (sent, changedTopics) = (batch.messages.count, batch.topics.count)
    batch.earliestTimer = nil
    try body(self)
    // Plugins that this world has suspended or put off run again: that happens only where the record has it.
    for plugin in evaluator.catalog.plugins where plugin.runtime.hasStopped { plugin.runtime.resume() }
    guard let made = recorder.take() else {
      if let entry { try diverge(Array(entry.subject.utf8)) }
      return
    }
    let result = cause.entry(of: made, sequence: sequence)
    let isAsRecorded = recorded != nil && entry.map { $0.consequences == result.consequences } ?? false
    for message in batch.messages[sent...] { try note(message) { _ in isAsRecorded } }
    if recorded == nil || diverged.contains(result.subject.nameHash) {
      if batch.earliestTimer != nil { for timer in evaluator.timers(setSince: mark) { note(timer) } }
    } else if !isAsRecorded {
      try diverge(Array(result.subject.utf8))
    }
    var one = Played(entry: result, isRecorded: entry != nil, rules: recorder.costs, counts: recorder.counts)
    var publishes = false
    for change in batch.topics[changedTopics...] {
      switch change {
      case .join(let member): one.memberships &+= member.hash64(seed: 1)
      case .leave(let member): one.memberships &+= member.hash64(seed: 2)
      case .publish(let publication):
        publishes = true
        if let topic = reader.topic(ofPublication: publication.text) { one.publications.append(topic) }
      }
    }
    if publishes { try publish(isRecorded: isAsRecorded) }
    played.append(one)
  }

  /// Notes a message that was sent: it waits for its recorded counterpart, or is delivered next.
  ///
  /// If its sender's event came out as recorded, it waits even if the record has fewer such messages: those to a subject that was erased
  /// later are not in the record.
  private func note(_ message: CommitBatch.Message, isRecorded: (MessageText) -> Bool) throws(RequestError) {
    guard let stored = try evaluator.text(of: message), let text = reader.message(stored) else { return }
    let receiver = message.subject.text
    if let recorded {
      if isRecorded(text) || waiting.count(of: text.key) < recorded.count(of: text.key) {
        return waiting.add(message, text)
      }
      guard recorded.isPlayed(receiver), !recorded.isMissing(receiver, after: sequence) else { return }
    }
    guard isHere?(receiver) ?? true else { return hasMissedMessage = true }
    if !waiting.deferMessage(message, text) { ownMessages.append(message) }
  }

  /// Has publications make their messages, which then are like messages of rules.
  ///
  /// A member in this world alone gets one that the record does not have, although the publication came out as recorded.
  private func publish(isRecorded: Bool) throws(RequestError) {
    if !isRecorded, isHere != nil { hasMissedMessage = true }
    while true {
      try commit()
      guard case .more = try evaluator.publications.step() else { return }
      for message in evaluator.batch.messages {
        // Other threads' worlds of the two sides are not at the same entry; `Replay` knows whether the members of their topics differ.
        let original = isHere?(message.subject.text) ?? true ? original : nil
        try note(message) { text in
          published[text.key, default: 0] += 1
          guard isRecorded, let original else { return isRecorded }
          return published[text.key, default: 0] <= original.published[text.key, default: 0]
        }
      }
    }
  }

  /// Delivers the messages that only this world has, in the order in which they were sent.
  private func deliverOwnMessages(_ played: inout [Played]) throws(RequestError) {
    while firstOwnMessage < ownMessages.count {
      let message = ownMessages[firstOwnMessage]
      firstOwnMessage += 1
      guard firstOwnMessage <= Self.mostSteps else {
        throw RequestError(.unavailable, "more than \(Self.mostSteps) messages followed from one event")
      }
      try perform(.ownMessage, &played) { (world) throws(RequestError) in _ = try world.evaluator.deliver(message) }
      try diverge(message.subject)
    }
    ownMessages.removeAll(keepingCapacity: true)
    firstOwnMessage = 0
  }

  // MARK: Timers

  /// Fires the timers that only this world has and that are due by `time`, in order.
  private func fireOwnTimers(until time: Timestamp, _ played: inout [Played]) throws(RequestError) {
    while let timer = ownTimers.takeFirst(dueBy: time.microseconds) {
      guard rules.has(plugin: timer.plugin) else {
        waitingTimers.append(timer)
        continue
      }
      context.clock.set(Timestamp(microseconds: max(timer.due, context.clock.now.microseconds)))
      try perform(.ownTimer(timer), &played) { (world) throws(RequestError) in try world.evaluator.fire(timer) }
      try deliverOwnMessages(&played)
      try commitLargeBatch()
    }
  }

  /// Notes that a subject's history differs from the record.
  ///
  /// From now on its timers fire when they are due, unless the record has them. Until then, a timer without a recorded firing does not
  /// fire: it was cancelled at the moment at which it came due.
  private func diverge(_ subject: [UInt8]) throws(RequestError) {
    guard recorded != nil, diverged.insert(subject.hash64(seed: 0)).inserted else { return }
    for timer in try evaluator.timers(of: subject) { note(timer) }
  }

  private func note(_ timer: DueTimer) {
    let key = RecordedHistory.key(ofTimer: timer.name, of: timer.plugin, subject: timer.subject, due: timer.due)
    if (recorded?.count(of: key) ?? 0) == 0 { ownTimers.add(timer) }
  }

  // MARK: The base

  private func findMessages() throws(StoreError) {
    var found: [(message: CommitBatch.Message, text: [UInt8])] = []
    let deferred = waiting.removeExpected()
    try context.store.scan(prefix: StoreKey.prefix(.message)) { key, value in
      if case .message(let subject, let sequence)? = try? ParsedKey(key), !deferred.contains(sequence) {
        found.append((CommitBatch.Message(subject: Array(subject), sequence: sequence), Array(value)))
      }
      return true
    }
    // Messages that could not be applied when the base was made are parked; a retry makes them messages again.
    try context.store.scan(prefix: StoreKey.prefix(.parked)) { key, value in
      if case .parked(let subject, let sequence)? = try? ParsedKey(key), let text = reader.parkedMessage(Array(value)) {
        waiting.add(CommitBatch.Message(subject: Array(subject), sequence: sequence), text, isParked: true)
      }
      return true
    }
    for (message, text) in found.sorted(by: { $0.message.sequence < $1.message.sequence }) {
      guard recorded != nil else {
        ownMessages.append(message)
        continue
      }
      if let text = reader.message(text) { waiting.add(message, text) }
    }
  }

  /// Whether entries that were played may be wrong, if other worlds play the other subjects of this side: a message was sent to one of these, or the
  /// time of a board seemed to be over.
  var hasMissed: Bool { hasMissedMessage || context.boards.hasSeenEnd }

  var counterCounts: [String: Int] { context.counters.counts }

  // MARK: Commits

  private func commitLargeBatch() throws(RequestError) {
    if evaluator.batch.writes.byteCount >= Self.batchBytes { try commit() }
  }

  private func commit() throws(RequestError) {
    guard !evaluator.batch.isEmpty || !evaluator.batch.changes.isEmpty else { return }
    let batch = evaluator.takeBatch()
    context.boards.number(batch)
    batch.numberTopics(in: context)
    if batch.publishes { evaluator.publications.noteMore(batch.publicationNumbers) }
    do throws(StoreError) { try context.store.commit(batch.writes, durable: false) } catch {
      evaluator.discardAll(from: batch)
      throw error.requestError
    }
    context.counters.addDurable(batch)
    context.boards.applyDurable(batch)
    evaluator.noteDurable(batch)
    evaluator.recycle(batch)
  }
}
