package import RuledCore
import RuledJSON
import RuledJournal
package import RuledLua
package import RuledStore

/// An engine on one thread with a manual clock: for tests of rules, and for trying events out.
///
/// When a call returns, all its consequences are committed, with messages and due timers.
package final class LocalEngine {
  /// The virtual time at the beginning, unless it is set.
  package static let start = Timestamp(microseconds: 1_735_689_600_000_000)
  /// How many messages and timers may follow from one call before it is taken as endless.
  static let mostSteps = 100_000

  package private(set) var context: EngineContext
  /// The evaluator; call `runUntilIdle` after using it directly.
  package private(set) var evaluator: Evaluator
  /// The changes since the engine was made or renewed, as watchers get them.
  package internal(set) var changes: [Change] = []
  /// When each of them was made.
  var times: [Timestamp] = []
  /// The messages that were sent since then, each as its stored JSON.
  package internal(set) var sent: [[UInt8]] = []

  private let lua: LuaWorker
  private let coverage: Coverage?
  private let vms = SpareVMs()
  private var counters = StoredCounters()
  private var waiting: [CommitBatch.Message] = []
  /// How many events were sent, for the ids of those that bring none.
  var eventsMade = 0
  private let document = TapeDocument()
  private let recorder: EventRecorder?
  /// Whether a rule has run since the engine was made or renewed; known if it keeps failures.
  package internal(set) var hasRunRules = false
  var failures: [ConsequentFailure] = []
  /// The plugins that fail on the next event of a subject, by subject.
  var failing: [[UInt8]: [Failure]] = [:]

  /// The failure of a plugin on a timer or a message.
  package struct ConsequentFailure {
    /// The failure as an outcome has it.
    package let failure: JSONValue
    package let type: String
    package let subject: String
  }

  /// An engine over a store.
  ///
  /// - Parameters:
  ///   - catalog: the rules in force.
  ///   - lua: the calling thread's worker.
  ///   - store: the store.
  ///   - start: the virtual time at the beginning.
  ///   - configuration: the limits.
  ///   - log: takes the rules' lines.
  ///   - coverage: records which lines of the rules run.
  ///   - keepsFailures: whether failures on timers and messages are kept for `takeFailures`.
  /// - Throws: when the store fails, or a message that waits in it.
  package init(
    catalog: Catalog, lua: LuaWorker, store: any StateStore = MemoryStore(), start: Timestamp = LocalEngine.start,
    configuration: Configuration = Configuration(), log: any EventLog = NoLog(), coverage: Coverage? = nil,
    keepsFailures: Bool = false
  ) throws(RequestError) {
    self.lua = lua
    recorder = keepsFailures ? EventRecorder() : nil
    self.coverage = coverage
    context = EngineContext(store: store, clock: EngineClock(manual: start), configuration: configuration, log: log)
    evaluator = Evaluator(context: context, catalog: catalog, lua: lua, cacheBytes: configuration.limits.cacheMiB << 20)
    try begin(catalog)
  }

  /// Starts again over another store, an empty one by default; the plugins' VMs are reused.
  package func renew(
    catalog: Catalog, store: any StateStore = MemoryStore(), start: Timestamp = LocalEngine.start
  ) throws(RequestError) {
    vms.save(of: evaluator)
    let configuration = context.configuration
    context = EngineContext(
      store: store, clock: EngineClock(manual: start), configuration: configuration, log: context.log)
    evaluator = Evaluator(context: context, catalog: catalog, lua: lua, cacheBytes: configuration.limits.cacheMiB << 20)
    hasRunRules = false
    for plugin in catalog.plugins { plugin.runtime.resume() }
    (changes, times, sent) = ([], [], [])
    failures.removeAll()
    failing.removeAll()
    try begin(catalog)
  }

  private func begin(_ catalog: Catalog) throws(RequestError) {
    evaluator.plugins.coverage = coverage
    evaluator.recorder = recorder
    if recorder != nil { evaluator.recordCosts(mask: .max) }
    vms.install(in: evaluator)
    context.steps.note(catalog)
    try recover()
  }

  package func adopt(_ catalog: Catalog) {
    context.steps.note(catalog)
    vms.adopt(catalog, in: evaluator)
  }

  package var now: Timestamp { context.clock.now }

  // MARK: Events

  /// Evaluates an event, the params of the protocol's `event`, and all its consequences; returns the event's outcome.
  func event(_ params: ByteView) throws(RequestError) -> ByteBuffer {
    guard let object = try? document.parse(copyOf: params) else {
      throw RequestError(.parseError, "the event is not JSON")
    }
    var event = EventInput(stored: object, text: document.text, now: now.microseconds, origin: .client)
    for (name, bytes) in [("type", event.type), ("subject", event.subject)] where bytes.isEmpty || bytes.count > 256 {
      throw .invalidParams(path: "params.\(name)", "must be a string of 1 to 256 bytes")
    }
    eventsMade += 1
    let id = ByteBuffer(capacity: 32)
    id.append("event-" as StaticString)
    id.append(decimal: Int64(eventsMade))
    if event.id.isEmpty { event.id = id.bytes }
    event.isDryRun = object.member("dryrun")?.bool == true
    event.isInternal = object.member("internal")?.bool == true
    event.explainsValues = object.member("explain")?.isString("without_values") != true
    event.isExplained = object.member("explain")?.bool == true || !event.explainsValues
    let outcome = ByteBuffer(capacity: 1024)
    try imposing(on: Array(event.subject)) { () throws(RequestError) in try evaluator.evaluate(event, into: outcome) }
    _ = takeRecorded()
    withExtendedLifetime(id) {}
    try runUntilIdle()
    return outcome
  }

  package func event(_ params: JSONValue) throws(RequestError) -> JSONValue {
    let text = ByteBuffer(capacity: 256)
    params.write(to: text)
    let outcome = try event(text.bytes)
    withExtendedLifetime(text) {}
    return (try? JSONValue(parsing: outcome.bytes)) ?? .null
  }

  /// Gives a subject a version and the plugins' states by name, and `items` as `GivenSubject` has them, as if events had made them.
  package func give(
    _ subject: String, version: UInt64, states: JSONObject, items: JSONObject = JSONObject()
  ) throws(RequestError) {
    try evaluator.give(Array(subject.utf8), try GivenSubject(version: version, states: states, items: items))
    try runUntilIdle()
  }

  // MARK: Time

  /// Sets the time; on the way forward, timers fire in the order in which they come due.
  package func set(_ time: Timestamp) throws(RequestError) {
    var steps = 0
    while let timer = try nextTimer(), timer.due <= time.microseconds {
      try count(&steps)
      if timer.due > now.microseconds { context.clock.set(Timestamp(microseconds: timer.due)) }
      try fire(timer)
      noteFailures()
      try runUntilIdle()
    }
    context.clock.set(time)
  }

  package func advance(microseconds: Int64) throws(RequestError) {
    let (time, overflow) = now.microseconds.addingReportingOverflow(microseconds)
    try set(Timestamp(microseconds: overflow ? .max : time))
  }

  /// Commits, delivers messages in the order sent, and fires due timers, until nothing is left to do.
  package func runUntilIdle() throws(RequestError) {
    var steps = 0
    while true {
      try commit()
      if case .more = try evaluator.publications.step() { continue }
      if !waiting.isEmpty {
        let message = waiting.removeFirst()
        try imposing(on: message.subject) { () throws(RequestError) in _ = try evaluator.deliver(message) }
      } else if let timer = try nextTimer(), timer.due <= now.microseconds {
        try fire(timer)
      } else {
        return
      }
      noteFailures()
      try count(&steps)
    }
  }

  private func fire(_ timer: DueTimer) throws(RequestError) {
    try imposing(on: timer.subject) { () throws(RequestError) in try evaluator.fire(timer) }
  }

  private func count(_ steps: inout Int) throws(RequestError) {
    steps += 1
    guard steps > Self.mostSteps else { return }
    throw RequestError(.unavailable, "more than \(Self.mostSteps) timers and messages followed from each other")
  }

  private func nextTimer() throws(RequestError) -> DueTimer? {
    let rules = evaluator.catalog
    do throws(StoreError) {
      return try StoreListing.timers(context, now: .max, limit: 1, waiting: { !rules.has(plugin: $0.plugin) }).due.first
    } catch {
      throw error.requestError
    }
  }

  // MARK: Failures

  /// Removes and returns the failures on timers and messages since the last call.
  package func takeFailures() -> [ConsequentFailure] {
    defer { failures.removeAll() }
    return failures
  }

  /// The entry of the last evaluation.
  func takeRecorded() -> JournalEntry? {
    guard let recorder, let entry = recorder.take() else { return nil }
    if !recorder.costs.isEmpty { hasRunRules = true }
    return entry
  }

  private func noteFailures() {
    guard let entry = takeRecorded(), !entry.failures.isEmpty else { return }
    let type = (try? JSONValue(parsing: entry.event.text))?["type"]?.stringValue ?? ""
    let list = try? JSONValue(parsing: "[\(entry.failures.text)]")
    failures += (list?.arrayValue ?? []).map { ConsequentFailure(failure: $0, type: type, subject: entry.subject) }
  }

  // MARK: Moments

  /// The content of the engine at a moment.
  package struct Moment {
    fileprivate let contents: [(key: [UInt8], value: [UInt8])]
    fileprivate let time: Timestamp
    fileprivate let changes: [Change]
    fileprivate let times: [Timestamp]
    fileprivate let sent: [[UInt8]]
    fileprivate let eventsMade: Int
  }

  package func moment() throws(RequestError) -> Moment {
    Moment(contents: try contents(), time: now, changes: changes, times: times, sent: sent, eventsMade: eventsMade)
  }

  package func restore(_ moment: Moment, catalog: Catalog) throws(RequestError) {
    let store = MemoryStore()
    let writes = WriteSet()
    for entry in moment.contents {
      entry.key.withView { key in entry.value.withView { writes.put(key, $0) } }
    }
    do throws(StoreError) { try store.commit(writes, durable: true) } catch { throw error.requestError }
    let hasRunRules = hasRunRules
    try renew(catalog: catalog, store: store, start: moment.time)
    self.hasRunRules = hasRunRules
    changes = moment.changes
    times = moment.times
    sent = moment.sent
    eventsMade = moment.eventsMade
  }

  // MARK: Parking

  /// The message of the failures that a test asked for.
  package static let wantedFailure = "the test lets the plugin fail"

  /// Has a plugin fail on the next event of a subject without being run, as if its time had run out.
  package func fail(_ plugin: String, onNextEventOf subject: String) {
    failing[Array(subject.utf8), default: []].append(Failure(plugin: plugin, kind: .time, message: Self.wantedFailure))
  }

  /// Calls `body`, which evaluates an event of the subject, and imposes the subject's failures on it.
  func imposing(on subject: [UInt8], _ body: () throws(RequestError) -> Void) throws(RequestError) {
    guard !failing.isEmpty, let failures = failing.removeValue(forKey: subject) else { return try body() }
    try evaluator.imposing(failures, body)
  }

  /// Tries a plugin's parked parts of a subject again, in order; only the event with `id`, if there is one.
  ///
  /// A part that fails again stays parked, and its failure is among `takeFailures`.
  ///
  /// - Returns: how many events were tried.
  package func retry(_ plugin: String, of subject: String, event id: String? = nil) throws(RequestError) -> Int {
    let parked = try StoreListing.parked(context, plugin: plugin, after: nil, limit: .max).parked.filter { entry in
      entry["subject"]?.stringValue == subject
        && (id == nil || entry["events"]?.arrayValue?.first?["id"]?.stringValue == id)
    }
    for entry in parked {
      guard let key = entry["id"]?.stringValue.flatMap({ ParkedKey(text: $0) }) else { continue }
      if case .failed(let failure)? = try evaluator.retry(key) {
        let type = entry["events"]?.arrayValue?.first?["type"]?.stringValue ?? ""
        failures.append(ConsequentFailure(failure: failure.json, type: type, subject: subject))
      }
      _ = takeRecorded()
      try runUntilIdle()
    }
    return parked.count
  }

  // MARK: Commits

  private func commit() throws(RequestError) {
    guard !evaluator.batch.isEmpty || !evaluator.batch.changes.isEmpty else { return }
    let batch = evaluator.takeBatch()
    batch.numberTopics(in: context)
    if batch.publishes { evaluator.publications.noteMore(batch.publicationNumbers) }
    let replaced = counters.count(batch)
    context.boards.number(batch)
    do throws(StoreError) { try context.store.commit(batch.writes, durable: true) } catch {
      counters.restore(replaced)
      evaluator.discardAll(from: batch)
      throw error.requestError
    }
    context.counters.addDurable(batch)
    context.boards.applyDurable(batch)
    evaluator.noteDurable(batch)
    changes += batch.changes.all
    times += Array(repeating: now, count: changes.count - times.count)
    for message in batch.messages { noteSent(message, in: batch) }
    waiting += batch.messages
    for message in batch.delivered { message.cascade?.leave() }
    for cascade in batch.awaited { cascade.leave() }
  }

  private func noteSent(_ message: CommitBatch.Message, in batch: CommitBatch) {
    message.key.withView { key in
      guard case .value(let bytes) = batch.writes.lookup(key) else { return }
      let inner = bytes.rawMember("message")
      sent.append(Array(inner.isEmpty ? bytes : inner))
    }
  }

  /// Loads counters and boards from the store, and applies the messages that wait there.
  private func recover() throws(RequestError) {
    var isPublishing = false
    do throws(StoreError) {
      counters = try context.counters.load(from: context)
      try context.boards.load(from: context)
      isPublishing = try TopicListing.resume(context)
      eventsMade = 0
      try context.store.scan(prefix: StoreKey.prefix(.outcome)) { _, _ in
        eventsMade += 1
        return true
      }
      waiting.removeAll()
      try StoreListing.forEachMessage(context) { subject, sequence, _ in
        waiting.append(.init(subject: Array(subject), sequence: sequence))
      }
      waiting.sort { $0.sequence < $1.sequence }
      if let last = waiting.last { context.advanceSequence(to: last.sequence) }
    } catch { throw error.requestError }
    if !waiting.isEmpty || isPublishing { try runUntilIdle() }
  }
}
