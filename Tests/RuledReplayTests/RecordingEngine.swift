import RuledCore
import RuledEngine
import RuledJSON
import RuledJournal
import RuledLua
import RuledStore
import TestSupport

/// An engine on one thread that works as the daemon does and keeps an entry of each event that takes effect.
///
/// Messages of different subjects are delivered in any order and some time later, timers fire late, batches are lost, and rules change.
final class RecordingEngine {
  /// What took effect, in order.
  private(set) var entries: [JournalEntry] = []
  /// The catalogs that were in force, by revision.
  private(set) var sources: [String: (source: RulesSource, configuration: [String: Configuration.Plugin])] = [:]
  private(set) var store: MemoryStore
  private(set) var duplicates = 0

  private let lua = LuaWorker()
  private let recorder = EventRecorder()
  private var context: EngineContext
  private var evaluator: Evaluator
  private var catalog: Catalog
  private var waiting: [CommitBatch.Message] = []
  private let reader = TapeDocument()

  init(_ source: RulesSource, configuration: [String: Configuration.Plugin] = [:]) throws {
    store = MemoryStore()
    catalog = try CatalogBuilder.build(
      source, configuration: configuration, previous: nil, worker: lua, now: LocalEngine.start)
    context = EngineContext(
      store: store, clock: EngineClock(manual: LocalEngine.start), configuration: .init(), log: NoLog())
    evaluator = Evaluator(context: context, catalog: catalog, lua: lua, cacheBytes: 64 << 20)
    evaluator.recorder = recorder
    context.journals.store(true, ordering: .relaxed)
    try StoredTime.resume(context)
    try context.boards.load(from: context)
    sources[catalog.revision] = (source, configuration)
  }

  var now: Timestamp { context.clock.now }
  var waitingCount: Int { waiting.count }
  var revision: String { catalog.revision }

  /// Puts other rules in force, and tries what is parked for plugins that changed.
  func adopt(_ source: RulesSource, configuration: [String: Configuration.Plugin] = [:]) throws {
    let next = try CatalogBuilder.build(
      source, configuration: configuration, previous: catalog, worker: lua, now: now)
    let old = Dictionary(uniqueKeysWithValues: catalog.plugins.map { ($0.name, $0.generation) })
    let changed = next.plugins.filter { old[$0.name] != $0.generation }.map(\.name)
    catalog = next
    sources[next.revision] = (source, configuration)
    evaluator.adopt(next)
    note(rules: next.revision)
    for plugin in changed { try retry(plugin: plugin) }
  }

  /// Begins anew over what is durable, as after a kill.
  func restart() throws {
    try commit()
    let time = now
    context = EngineContext(store: store, clock: EngineClock(manual: time), configuration: .init(), log: NoLog())
    context.journals.store(true, ordering: .relaxed)
    evaluator = Evaluator(context: context, catalog: catalog, lua: lua, cacheBytes: 64 << 20)
    evaluator.recorder = recorder
    try StoredTime.resume(context)
    try context.boards.load(from: context)
    waiting = []
    try TopicListing.resume(context)
    try StoreListing.forEachMessage(context) { subject, sequence, _ in
      waiting.append(.init(subject: Array(subject), sequence: sequence))
    }
    waiting.sort { $0.sequence < $1.sequence }
  }

  /// Sends an event as a client.
  func send(_ params: JSONObject) throws {
    let text = ByteBuffer(capacity: 256)
    JSONValue.object(params).write(to: text)
    let object = try reader.parse(copyOf: text.bytes)
    var event = EventInput(stored: object, text: reader.text, now: now.microseconds, origin: .client)
    event.isExplained = params["explain"]?.boolValue == true
    let before = evaluator.duplicates
    try evaluator.evaluate(event, into: ByteBuffer(capacity: 256))
    duplicates += evaluator.duplicates - before
    note(.client)
  }

  /// Brings publications to some members.
  func publish() throws {
    try commit()
    _ = try evaluator.publications.step()
    try commit()
  }

  /// Delivers the first message of some subject.
  func deliver(_ random: inout SeededRandom) throws {
    guard let chosen = waiting.randomElement(using: &random),
      let index = waiting.firstIndex(where: { $0.subject == chosen.subject })
    else { return }
    let message = waiting.remove(at: index)
    if try evaluator.deliver(message) == .applied { note(.message) }
  }

  /// Delivers all messages that wait for a subject, in order.
  func deliver(to subject: String) throws {
    try commit()
    while let index = waiting.firstIndex(where: { $0.subject.elementsEqual(subject.utf8) }) {
      if try evaluator.deliver(waiting.remove(at: index)) == .applied { note(.message) }
    }
  }

  /// Advances the clock and fires the timers that are due then, with a chance not all in time.
  func advance(microseconds: Int64, _ random: inout SeededRandom) throws {
    try commit()
    let end = now.microseconds + microseconds
    while let timer = try StoreListing.timers(context, now: end, limit: 1).due.first {
      let isLate = Int.random(in: 0..<4, using: &random) == 0
      let at = isLate ? min(end, timer.due + Int64.random(in: 0...3_000_000, using: &random)) : timer.due
      context.clock.set(Timestamp(microseconds: max(now.microseconds, at)))
      try evaluator.fire(timer)
      note(.timer, timer)
      try commit()
    }
    context.clock.set(Timestamp(microseconds: end))
  }

  /// Tries what is parked for a plugin.
  func retry(plugin: String) throws {
    try commit()
    catalog.plugins.first { $0.name == plugin }?.runtime.resume()
    for key in try StoreListing.parkedKeys(context, plugin: plugin) {
      _ = try evaluator.retry(key)
      note(.retry)
      try commit()
    }
  }

  func forget(_ subject: String) throws {
    try commit()
    try evaluator.forget(subject)
    note(erased: subject)
    try commit()
  }

  /// Loses what was evaluated since the last commit, as a failing disk does.
  func loseBatch() throws {
    guard !evaluator.batch.isEmpty else { return }
    entries.removeSubrange(durableEntries...)
    evaluator.discardAll(from: evaluator.takeBatch())
    keptCount = 0
    try restart()
  }

  private var durableEntries = 0
  private var nextSequence: UInt64 { UInt64(entries.count) + 1 }

  /// Makes durable what was evaluated.
  func commit() throws {
    durableEntries = entries.count
    guard !evaluator.batch.isEmpty else { return }
    let batch = evaluator.takeBatch()
    keptCount = 0
    batch.numberTopics(in: context)
    if batch.publishes { evaluator.publications.noteMore(batch.publicationNumbers) }
    context.boards.number(batch)
    try store.commit(batch.writes, durable: true)
    context.counters.addDurable(batch)
    context.boards.applyDurable(batch)
    evaluator.noteDurable(batch)
    waiting += batch.messages
  }

  private func note(_ origin: JournalEntry.Origin, _ timer: DueTimer? = nil) {
    guard let entry = recorder.take() else { return }
    entries.append(
      entry.with(
        sequence: nextSequence, at: now, origin: origin,
        plugin: timer.map { String(decoding: $0.plugin, as: UTF8.self) },
        timer: timer.map { String(decoding: $0.name, as: UTF8.self) }))
    noteKept(by: entry)
  }

  /// How many erasures of a past are in the current batch, and noted.
  private var keptCount = 0

  /// Notes that an event erased its subject's past, if it did: with what the journal gets of it.
  private func noteKept(by event: JournalEntry) {
    var kept: [[UInt8]] = []
    evaluator.batch.writes.forEach { write in
      guard case .journal(_, let text) = write, text.starts(with: Array(#"{"data_base64":"#.utf8)) else { return }
      kept.append(Array(text))
    }
    guard kept.count > keptCount, let text = kept.last else { return }
    keptCount = kept.count
    note(erased: event.subject)
    entries.append(
      JournalEntry(
        sequence: nextSequence, at: now, now: now, subject: event.subject, version: event.version,
        revision: event.revision, origin: .kept, event: text, digests: event.digests))
  }

  private func note(erased subject: String) {
    entries.append(
      JournalEntry(
        sequence: nextSequence, at: now, now: now, subject: subject, version: 0, revision: catalog.revision,
        origin: .forget, event: Array("{}".utf8)))
  }

  private func note(rules revision: String) {
    entries.append(
      JournalEntry(
        sequence: nextSequence, at: now, now: now, subject: "", version: 0, revision: revision, origin: .rules,
        event: Array("{}".utf8)))
  }
}

extension MemoryStore {
  /// A store with the same contents.
  func copy() throws -> MemoryStore {
    let copy = MemoryStore()
    let set = WriteSet(capacity: 1 << 16)
    try scan(from: [], to: nil) { key, value in
      set.put(key, value)
      return true
    }
    try copy.commit(set, durable: true)
    return copy
  }
}
