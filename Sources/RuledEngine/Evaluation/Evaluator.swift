package import RuledCore
import RuledJournal
package import RuledLua
import RuledStore

/// Evaluates the events of one worker's subjects: finds the state, runs the rules, and adds all their changes to the batch to be committed.
///
/// It belongs to one thread. Its owner commits the batches: it takes one with `takeBatch` and reports the result with `noteDurable` or `discardAll`.
/// An evaluated event counts for later events of the same subjects at once; replies wait for the commit.
package final class Evaluator {
  package let context: EngineContext
  let plugins: WorkerPlugins
  let batches: BatchQueue
  let subjects: SubjectCache
  let memory: OutcomeMemory
  let items: SubjectItems
  /// The publications under way; one evaluator of a daemon brings them to the members.
  package let publications: PublicationQueue
  let parked: ParkedEvents
  let transaction: EventTransaction
  let migration: StateMigration
  /// How many events repeated one whose outcome was remembered, without those on the other side of a rollout.
  var ownDuplicates = 0
  /// How many of them had another type or other data.
  var ownDifferences = 0
  /// The rules that are tried on some subjects, nil while there are none.
  var rollout: Rollout?
  /// Counts the events of this side while there is a rollout.
  var tally: RolloutTally?
  /// A buffer for outcomes without a reader.
  let unreadOutcome = ByteBuffer(capacity: 256)

  /// An evaluator for the calling thread, whose hot subjects may take `cacheBytes`.
  ///
  /// `worker` is the number of its worker in the daemon, or another one that no other evaluator over the same store has.
  package convenience init(
    context: EngineContext, catalog: Catalog, lua: LuaWorker, cacheBytes: Int, worker: UInt64 = 0
  ) {
    let batches = BatchQueue(context, worker: worker)
    let subjects = SubjectCache(context, batches: batches, limit: cacheBytes)
    self.init(
      context, WorkerPlugins(catalog, lua: lua), batches, subjects,
      OutcomeMemory(context, batches: batches, subjects: subjects))
  }

  /// An evaluator of other rules for the same subjects, on the same thread and into the same batches.
  convenience init(besides other: Evaluator, catalog: Catalog) {
    self.init(
      other.context, WorkerPlugins(catalog, sharing: other.plugins), other.batches, other.subjects, other.memory)
  }

  private init(
    _ context: EngineContext, _ plugins: WorkerPlugins, _ batches: BatchQueue, _ subjects: SubjectCache,
    _ memory: OutcomeMemory
  ) {
    self.context = context
    self.plugins = plugins
    self.batches = batches
    self.subjects = subjects
    self.memory = memory
    items = SubjectItems(context, batches: batches, plugins: plugins)
    publications = PublicationQueue(context, batches: batches, plugins: plugins, topics: items.topics)
    parked = ParkedEvents(context, batches: batches, subjects: subjects, plugins: plugins, messages: items.messages)
    migration = StateMigration(context, plugins: plugins)
    transaction = EventTransaction(
      context, plugins: plugins, batches: batches, subjects: subjects, memory: memory, items: items, parked: parked,
      migration: migration)
    plugins.host = transaction
  }

  // MARK: Events

  /// Evaluates an event and appends its outcome to `reply`; its changes join the batch, all or none.
  ///
  /// A repeat of a remembered event runs no rule and gets the first outcome again. `timer` is the timer that the event belongs to.
  package func evaluate(
    _ event: EventInput, of timer: DueTimer? = nil, cascade: Cascade? = nil, into reply: ByteBuffer
  ) throws(RequestError) {
    if let rollout, rollout.share.contains(event.subject) {
      return try rollout.candidate.evaluate(event, of: timer, cascade: cascade, into: reply)
    }
    let subject = try subjects.fetchSubject(event.subject)
    let record = try subjects.record(of: subject)
    let identity = event.origin == .client ? OutcomeMemory.identity(of: event) : 0
    if event.origin == .client, !event.isDryRun,
      let outcome = try memory.recall(event, identity: identity, subject: subject, record: record)
    {
      try EventTransaction.checkType(of: event, plugins.listeners(to: event.type))
      let differs = outcome.digest.map { $0 != OutcomeMemory.digest(of: event) } ?? false
      ownDuplicates += 1
      if differs { ownDifferences += 1 }
      OutcomeWriter.compose(outcome, of: event.subject, id: event.id, differs ? .differing : .same, to: reply)
      return
    }
    transaction.beginEvent(event, of: subject, record: record, timer: timer)
    defer { transaction.end() }
    try transaction.runRules()
    let outcome = try transaction.collectOutcome()
    if !event.isDryRun {
      let erasure = transaction.erasure
      let before = erasure == nil ? nil : (batch.mark, Array(subject.record))
      try transaction.addToBatch(outcome, of: subject, identity: identity, cascade: cascade)
      if let erasure, let before { try erase(erasure, event.subject, subject, or: before) }
      if let tally { tally.note(subject, hasFailed: !outcome.failures.isEmpty, into: batches.current.writes) }
    }
    OutcomeWriter.compose(
      outcome, of: event.subject, id: event.id, .none,
      trace: event.isExplained ? transaction.trace.bytes : nil, to: reply)
  }

  /// Evaluates the event of a timer that is due, and removes the timer.
  ///
  /// A timer that was cancelled or set anew since it was found due does nothing. One of a plugin that the rules in force do not have stays: it fires
  /// once the plugin is back.
  package func fire(_ timer: DueTimer, cascade: Cascade? = nil) throws(RequestError) {
    if let rollout, rollout.share.contains(timer.subject) {
      return try rollout.candidate.fire(timer, cascade: cascade)
    }
    guard catalog.has(plugin: timer.plugin) else { return }
    let mark = batch.mark
    let subject = try subjects.fetchSubject(timer.subject)
    guard let event = try items.timers.take(timer, of: subject, cascade?.move) else { return }
    try evaluateStored(event, of: timer, cascade: cascade, since: mark)
  }

  /// The fate of a message that was to be applied.
  package enum Delivery {
    case applied
    /// It was applied or erased before.
    case gone
    /// It stays in the store.
    case deferred
  }

  /// Evaluates the event of a message and removes the message, so that it is applied exactly once.
  ///
  /// Messages of the plugins `deferred` stay. A message is parked instead if it can't be read, or if the plugin that sent it is gone or suspended.
  package func deliver(
    _ message: CommitBatch.Message, butOf deferred: Set<String> = []
  ) throws(RequestError) -> Delivery {
    if let rollout, rollout.share.contains(message.subject) {
      return try rollout.candidate.deliver(message, butOf: deferred)
    }
    let subject = try subjects.fetchSubject(message.subject)
    let mark = batch.mark
    switch try items.messages.take(message, of: subject, butOf: deferred) {
    case .gone: return .gone
    case .deferred: return .deferred
    case .left: break
    case .damaged(let bytes): parked.park(damaged: bytes, of: subject, sequence: message.sequence)
    case .message(let stored):
      if let (plugin, reason) = stored.obstacle {
        parked.park(stored, plugin: plugin, reason: reason, of: subject, sequence: message.sequence)
      } else {
        try evaluateStored(stored.event, cascade: message.cascade, since: mark)
      }
    }
    return .applied
  }

  /// Evaluates an event of the store's own, whose outcome nobody reads; on failure rolls the batch back to `mark`.
  private func evaluateStored(
    _ event: EventInput, of timer: DueTimer? = nil, cascade: Cascade?, since mark: CommitBatch.Mark
  ) throws(RequestError) {
    unreadOutcome.removeAll()
    do throws(RequestError) {
      try evaluate(event, of: timer, cascade: cascade, into: unreadOutcome)
    } catch {
      batches.rollBack(to: mark)
      throw error
    }
  }

  /// Tries a parked part again and removes it if that succeeds; nil when it is gone.
  package func retry(_ parked: ParkedKey) throws(RequestError) -> RetryResult? {
    if let rollout, rollout.share.contains(parked.subject) { return try rollout.candidate.retry(parked) }
    let subject = try subjects.fetchSubject(parked.subject)
    let before = (batch.mark, Array(subject.record))
    var erasure: EventTransaction.Erasure?
    let result = try self.parked.retry(parked) { (event, further, subject, plugin) throws(RequestError) in
      try transaction.retry(
        event, furtherEvents: further, of: subject, record: try subjects.record(of: subject), plugin: plugin,
        erasure: &erasure)
    }
    if let erasure {
      try parked.subject.withView { (name) throws(RequestError) in try erase(erasure, name, subject, or: before) }
    }
    return result
  }

  /// Erases the subject of an event that is in the batch already, or its past, as a rule asked for; takes the event back if that fails.
  private func erase(
    _ erasure: EventTransaction.Erasure, _ name: ByteView, _ subject: Subject,
    or before: (mark: CommitBatch.Mark, record: [UInt8])
  ) throws(RequestError) {
    do throws(RequestError) {
      switch erasure {
      case .past: try forgetPast(name)
      case .all: _ = try forget(name)
      }
    } catch {
      batches.rollBack(to: before.mark)
      before.record.withView { subjects.setRecord($0, of: subject) }
      throw error
    }
  }

  /// Removes a parked part; false when it is gone.
  package func drop(_ parked: ParkedKey) throws(RequestError) -> Bool { try self.parked.drop(parked) }

  /// Replaces the text of an effect that has not been delivered, or removes it if there is no other; false when the effect is gone.
  ///
  /// It runs on the subject's own worker, so that it never restores an erased effect.
  package func replace(_ effect: EffectKey, with text: [UInt8]?) throws(RequestError) -> Bool {
    try items.effects.replace(effect, of: try subjects.fetchSubject(effect.subject), with: text)
  }

  /// The counters whose name begins with `prefix`, for an answer that leaves once all events evaluated here are durable.
  ///
  /// Of other workers' events only the durable ones are counted.
  package func counters(prefix: String) -> [(key: CounterKey, value: CounterValue)] {
    context.counters.select(prefix: prefix, now: context.clock.now.microseconds, with: batches.uncommitted)
  }

  /// How many events of clients repeated one whose outcome was remembered.
  package var duplicates: Int { ownDuplicates + (rollout?.candidate.ownDuplicates ?? 0) }

  /// How many of them had another type or other data than the first one.
  package var differences: Int { ownDifferences + (rollout?.candidate.ownDifferences ?? 0) }

  /// Prefetches the hot subjects of the events a few places after `index`, of `count` events in order.
  ///
  /// `hash` gives the hash of the subject of the event at an index.
  package func prefetchSubjects(after index: Int, of count: Int, _ hash: (Int) -> UInt64) {
    for stage in SubjectCache.PrefetchStage.allCases {
      let ahead = index + 2 * (SubjectCache.PrefetchStage.allCases.count - stage.rawValue)
      if ahead < count { subjects.prefetch(hash(ahead), stage) }
    }
  }

  // MARK: Rules

  package var catalog: Catalog { plugins.catalog }

  /// Puts other rules in force, from the next event on; plugins that did not change keep their VMs.
  package func adopt(_ catalog: Catalog) { adopt(catalog, reusing: nil) }

  /// Puts other rules in force; plugins take over their VMs from these plugins where they have none of their own.
  func adopt(_ catalog: Catalog, reusing others: WorkerPlugins?) {
    plugins.adopt(catalog, reusing: others)
    transaction.adoptPlugins()
    migration.removeAll()
  }

  /// Adds to the batch, for the journal, that these rules and settings have come into force; for some subjects alone if there is a `rollout`.
  package func journal(_ catalog: Catalog, rollout: JSONValue? = nil) {
    guard context.journals.load(ordering: .relaxed) else { return }
    let head = ByteBuffer(capacity: 64)
    let now = context.clock.now.microseconds
    EntryHead.write(.rules, at: now, now: now, into: head)
    EntryHead.write(catalog.revisionText.bytes, into: head)
    let text = ByteBuffer(capacity: 1024)
    catalog.journalEvent(rollout).write(to: text)
    batches.current.writes.journal(head.bytes, text.bytes)
    batches.current.changes.appendUnseen()
    withExtendedLifetime((head, text)) {}
  }

  /// Runs `body` on the thread of `other`, which may use this evaluator in there while this one's own thread sleeps.
  package func runOnThread(of other: Evaluator, _ body: () -> Void) { plugins.runOnThread(of: other.plugins, body) }

  // MARK: Commits

  package var batch: CommitBatch { batches.current }

  /// How many bytes the writes of the batch take.
  package var batchBytes: Int { @_effects(releasenone) get { batches.current.writes.byteCount } }

  /// Hands out the batch, which is in flight from then on, and begins the next one.
  package func takeBatch() -> CommitBatch {
    if rollout != nil { keepTallies() }
    return batches.handOut()
  }

  /// Notes that the oldest batch in flight is durable.
  package func noteDurable(_ batch: CommitBatch) {
    batches.retire(batch)
    subjects.evict()
  }

  /// Discards the oldest batch in flight, whose commit failed, and all later ones, the current one included.
  ///
  /// No hot subject is trusted any longer: all are read from the store again.
  package func discardAll(from batch: CommitBatch) {
    publications.reload()
    batches.discardAll(from: batch)
    subjects.removeAll()
  }

  package func recycle(_ batch: CommitBatch) { batches.keepSpare(batch) }

  package var inFlightCount: Int { batches.inFlight.count }

  package var isQuiet: Bool { batches.isQuiet }

  /// How many subjects are hot, about how many bytes they take, and how often a subject was hot when it was needed, and was not.
  package var cache: (subjects: Int, bytes: Int, hits: Int, misses: Int) {
    (subjects.count, subjects.bytes, subjects.hits, subjects.misses)
  }
}
