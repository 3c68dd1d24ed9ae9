import RuledCore
import RuledJSON
import RuledLua
import RuledStore

/// The event at hand and its rules' changes, until all of them join the batch or none.
///
/// A worker has one transaction and uses it for each event again, so that an event allocates nothing. The steps are `beginEvent`,
/// `runRules`, `collectOutcome`, `addToBatch` unless it is a dry run, and `end`.
final class EventTransaction {
  let context: EngineContext
  let plugins: WorkerPlugins
  let batches: BatchQueue
  let subjects: SubjectCache
  let memory: OutcomeMemory
  let items: SubjectItems
  let parked: ParkedEvents
  let migration: StateMigration

  private(set) var event = EventInput.none
  /// The subject; nil for a query or a handler without one.
  private(set) var subject: Subject?
  /// The subject's record before the event.
  private(set) var record: SubjectRecordView?
  /// The plugin whose parked part is retried, nil for an event that is evaluated for the first time.
  private(set) var retriedPlugin: Int?
  /// The store's failure to answer a rule; the whole transaction then fails.
  var storeFailure: RequestError?

  let queue = EventQueue()
  /// The digest of the messages and timers that follow from the event; 0 if none does.
  var consequences: UInt64 = 0
  /// Takes each event that takes effect, for a replay; nil in the daemon.
  var recorder: EventRecorder?
  /// Whether batches get the changes that `watch` shows.
  var isWatchable = true
  /// The failures that the event's plugins get again from the record, without being run.
  var imposedFailures: [Failure] = []
  /// The factor by which its rules may exceed the processor time of a plugin's budget: in a replay, a slower host than the record's would stop rules
  /// that ended there, or that ran out of instructions.
  var slowness: Int64 = 1
  /// The timer that the event belongs to, nil for another event.
  private(set) var timer: DueTimer?
  /// How many timers its plugin has for the subject, once somebody asked; see `firingCrowd`.
  private var knownCrowd: Int?
  /// Parses the data of the raised event at hand.
  let raisedData = TapeDocument()
  /// Parses the data of an event that a rule makes, while it reads that of the event at hand.
  let checkedData = TapeDocument()
  /// The encoded states of the plugins that ran.
  let states = ByteBuffer(capacity: 4096)
  let parts = OutcomeParts()
  let trace = TraceWriter()
  /// Each plugin's part, in the catalog's order.
  private(set) var runs: [PluginRun]
  /// The indices of the plugins that have seen an event; in order once the outcome is collected.
  private(set) var touched: [Int] = []
  private var runCount: UInt64 = 0

  // Used by the commit.
  var history = OutcomeMemory.History()
  let key = ByteBuffer(capacity: 320)
  let nextRecord = ByteBuffer(capacity: 1024)
  let journalHead = ByteBuffer(capacity: 256)

  init(
    _ context: EngineContext, plugins: WorkerPlugins, batches: BatchQueue, subjects: SubjectCache,
    memory: OutcomeMemory, items: SubjectItems, parked: ParkedEvents, migration: StateMigration
  ) {
    self.context = context
    self.plugins = plugins
    self.batches = batches
    self.subjects = subjects
    self.memory = memory
    self.items = items
    self.parked = parked
    self.migration = migration
    runs = plugins.all.map { PluginRun($0) }
  }

  /// Follows `plugins` when other rules are put in force.
  func adoptPlugins() { runs = plugins.all.map { PluginRun($0) } }

  // MARK: Begin and end

  func beginEvent(_ event: EventInput, of subject: Subject, record: SubjectRecordView?, timer: DueTimer? = nil) {
    self.event = event
    self.timer = timer
    if let recorder, recorder.explanation != .none {
      self.event.isExplained = true
      self.event.explainsValues = recorder.explanation == .whole
    }
    self.subject = subject
    self.record = record
    queue.append(sent: event.type)
  }

  /// Begins a call that changes nothing.
  ///
  /// It may be about a subject or about none.
  func beginReading(_ subject: Subject?, record: SubjectRecordView?, now: Int64) {
    event = EventInput.none
    if let subject { event.subject = subject.name }
    event.time = now
    event.now = now
    self.subject = subject
    self.record = record
  }

  /// Forgets the event, and releases counts that did not join the batch.
  func end() {
    event = .none
    timer = nil
    subject = nil
    record = nil
    retriedPlugin = nil
    storeFailure = nil
    knownCrowd = nil
    forEachTouched { run in
      run.counts.release(in: context)
      run.reset()
    }
    touched.removeAll(keepingCapacity: true)
    queue.removeAll()
    states.removeAll()
    parts.removeAll()
    trace.removeAll()
  }

  // MARK: Run

  /// Runs the rules of all plugins on the event, in order of name, and then on the raised events, in the order raised.
  func runRules() throws(RequestError) {
    var index = 0
    while index < queue.count, storeFailure == nil {
      try runPlugins(onEventAt: index)
      index += 1
    }
    if let storeFailure { throw storeFailure }
  }

  private func runPlugins(onEventAt index: Int) throws(RequestError) {
    let queued = queue[index]
    let listeners = plugins.listeners(to: queue.type(of: queued))
    if queued.origin == .sent { try checkArrived(listeners) }
    if event.isExplained { beginExplanation(ofEventAt: index, isHeard: !listeners.plugins.isEmpty) }
    for number in listeners.plugins.indices {
      let plugin = listeners.plugins[number].plugin
      if queued.isRaised(by: plugin) { continue }
      if let retriedPlugin, !queued.isRaised, plugin != retriedPlugin { continue }
      withRun(of: plugin) { $0.takeEvent(at: index, rules: listeners.plugins[number].rules, in: self) }
    }
  }

  /// Begins the part of the trace on an event.
  ///
  /// If no rule listens to the sent event, it lists the types that rules listen to.
  private func beginExplanation(ofEventAt index: Int, isHeard: Bool) {
    trace.begin(event)
    let type = typeText(of: queue[index])
    let raising = raisingPlugin(of: queue[index])
    trace.type = raising.map { trace.word(type, of: $0) } ?? type
    trace.cause = raising.map { ($0.name, $0.manifest.rules[queue[index].rule].name) }
    guard index == 0 else { return }
    for plugin in plugins.catalog.disabled { trace.skip(disabled: plugin) }
    if !isHeard { for run in runs { trace.list(run.loaded) } }
  }

  func withoutExplaining(_ body: () throws(Failure) -> Void) throws(Failure) {
    let isExplained = event.isExplained
    event.isExplained = false
    defer { event.isExplained = isExplained }
    try body()
  }

  /// The plugin that raised an event; nil for one that was sent or parked.
  private func raisingPlugin(of queued: QueuedEvent) -> Catalog.Plugin? {
    guard case .raised(let plugin) = queued.origin else { return nil }
    return plugins.catalog.plugins[plugin]
  }

  /// Evaluates the events of a plugin's parked part again, and commits if the plugin no longer fails.
  ///
  /// `erasure` is set to the erasure that a rule asked for.
  /// - Returns: why the plugin failed again; nil when it succeeded.
  func retry(
    _ event: EventInput, furtherEvents: some Sequence<JSONValue>, of subject: Subject, record: SubjectRecordView?,
    plugin: Int, erasure: inout Erasure?
  ) throws(RequestError) -> Failure? {
    beginEvent(event, of: subject, record: record)
    defer { end() }
    retriedPlugin = plugin
    for event in furtherEvents {
      queue.append(parked: event["type"]?.stringValue ?? "", data: event["data"]?.text ?? "{}")
    }
    try runRules()
    if let failure = runs[plugin].failure { return failure }
    try addToBatch(try collectOutcome(), of: subject, identity: 0, cascade: nil)
    erasure = self.erasure
    return nil
  }

  enum Erasure {
    /// All but the plugins' present data.
    case past
    case all
  }

  /// The erasure that rules asked for; nil for none.
  var erasure: Erasure? {
    var asked: Erasure?
    forEachTouched { run in
      guard !run.hasFailed, !run.operations.isDisjoint(with: [.forget, .forgetPast]),
        let operations = run.plugin.vm?.operations
      else { return }
      for index in operations.indices {
        switch operations[index] {
        case .forget(true): asked = .all
        case .forgetPast: asked = asked ?? .past
        default: break
        }
      }
    }
    return asked
  }

  // MARK: Outcome

  /// Collects decisions, effects and failures, and writes what the rules logged.
  ///
  /// - Returns: the outcome, valid until the transaction ends.
  func collectOutcome() throws(RequestError) -> RememberedOutcome {
    if touched.count > 1 { touched.sort() }
    forEachTouched { collect($0) }
    if let storeFailure { throw storeFailure }
    let isCounted = !event.isDryRun && retriedPlugin == nil
    return RememberedOutcome(
      version: (record?.version ?? 0) + (isCounted ? 1 : 0), revision: plugins.catalog.revisionText.bytes,
      decisions: parts.decisions.bytes, effects: parts.effects.bytes, failures: parts.failures.bytes)
  }

  private func collect(_ run: PluginRun) {
    if let failure = run.failure { return parts.add(failure) }
    guard !run.operations.isEmpty, let vm = run.plugin.vm else { return }
    if !run.operations.isDisjoint(with: .collapsing) { vm.collapseOperations() }
    if run.operations.contains(.decide) { parts.addDecisions(in: vm.operations, of: run.loaded) }
    if run.operations.contains(.emit) { collectEffects(in: vm.operations, of: run.loaded) }
    if run.operations.contains(.log), !event.isDryRun { writeLog(of: vm) }
  }

  private func collectEffects(in operations: Operations, of plugin: Catalog.Plugin) {
    guard let subject else { return }
    for index in operations.indices where !operations.isVoid(at: index) {
      guard case .emit(let effect) = operations[index] else { continue }
      do throws(RequestError) {
        guard try !items.effects.isRepeated(effect, of: plugin.name, subject: subject) else { continue }
        parts.add(effect, of: plugin)
      } catch { storeFailure = error }
    }
  }

  // MARK: Runs

  /// Calls `body` with a plugin's run; `runs` keeps it alive meanwhile, so that no reference is counted.
  @inline(__always)
  func withRun<Result>(of plugin: Int, _ body: (PluginRun) -> Result) -> Result {
    Unmanaged.passUnretained(runs[plugin])._withUnsafeGuaranteedRef(body)
  }

  /// Calls `body` with each run that has seen an event.
  @inline(__always)
  func forEachTouched(_ body: (PluginRun) -> Void) {
    for index in 0..<touched.count { withRun(of: touched[index], body) }
  }

  /// Notes that a plugin has seen an event.
  func touch(_ plugin: WorkerPlugin) { touched.append(plugin.index) }

  /// Whether an event of the type is run through the plugins: one that no rule listens to matters for explanations alone.
  func hears(_ type: ByteView) -> Bool { event.isExplained || plugins.withListeners(to: type) { !$0.plugins.isEmpty } }

  /// The plugin's rules that listen to a type, nil for none.
  func rules(of plugin: WorkerPlugin, listeningTo type: ByteView) -> [Int]? {
    plugins.withListeners(to: type) { $0.rules(of: plugin.index) }
  }

  func isRetrying(_ plugin: WorkerPlugin) -> Bool { retriedPlugin == plugin.index }

  /// How many messages, or publications, the other plugins send.
  func sum(besides run: PluginRun, _ count: (PluginRun) -> Int) -> Int {
    var sum = 0
    forEachTouched { other in if other !== run, !other.hasFailed { sum += count(other) } }
    return sum
  }

  /// Whether the time of the next run is measured, which is every sixteenth.
  func isNextRunMeasured() -> Bool {
    runCount &+= 1
    return runCount & 15 == 0
  }

  func budget(of plugin: Catalog.Plugin) -> Budget {
    var budget = plugin.manifest.budget
    budget.processorTime *= slowness
    return budget
  }

  // MARK: Events for rules

  /// An event of the queue for a plugin that has not yet seen any, with its state as JSON.
  func ruleEvent(_ queued: QueuedEvent, _ state: ByteView?, for plugin: Catalog.Plugin) -> RuleEvent {
    let isSent = queued.origin == .sent
    return RuleEvent(
      id: event.id, source: event.source, type: queue.type(of: queued), subject: event.subject,
      origin: isSent ? event.originText : ByteView("raise"), sender: isSent ? event.sender : .empty, time: event.time,
      now: event.now, earliestTimer: earliestTimer(of: plugin),
      data: isSent ? event.data : try? raisedData.parse(copyOf: queue.data(of: queued)),
      attributes: isSent ? event.attributes : nil, seed: hash64(event.id, seed: hash64(event.subject, seed: 0)),
      state: state, isExplained: event.isExplained, depth: queued.depth, chain: queue.chain(of: queued))
  }

  /// The earliest due time of a timer that a plugin sets for the event, in microseconds; nil for any.
  ///
  /// So a loop of timers takes a step for each, and more once many are pending: loops that fan out don't fire ever more timers a second. A loop
  /// through other plugins or through messages takes a step after as many events in a row as messages may make.
  func earliestTimer(of plugin: Catalog.Plugin) -> Int64? {
    if let timer, isOwn(timer, of: plugin) {
      let steps = 1 + Int64(firingCrowd(of: plugin) / Limits.crowdedTimers)
      return max(timer.due + steps * context.timerStep, event.now)
    }
    return event.hops < Limits.messageHops && event.maySend > 0 ? nil : event.now + context.timerStep
  }

  /// How many timers the plugin has for the subject whose timer is firing; 0 while they are few.
  func firingCrowd(of plugin: Catalog.Plugin) -> Int {
    if let knownCrowd { return knownCrowd }
    var crowd = 0
    if let subject {
      do throws(RequestError) {
        crowd = try items.timers.names(of: plugin, subject, ifAtLeast: Limits.crowdedTimers)?.count ?? 0
      } catch { storeFailure = error }
    }
    knownCrowd = crowd
    return crowd
  }

  /// Whether a plugin has set the timer.
  func isOwn(_ timer: DueTimer, of plugin: Catalog.Plugin) -> Bool {
    timer.plugin.withView { ByteOrder.equal($0, plugin.nameBytes) }
  }

  /// Whether a timer follows from the event like a message: it is due at once, and the event is not of a timer of the same plugin.
  func followsAtOnce(_ due: Double, of plugin: Catalog.Plugin) -> Bool {
    guard ConsequenceID.due(due) < event.now + context.timerStep else { return false }
    return timer.map { !isOwn($0, of: plugin) } ?? true
  }

  /// The event that a plugin's query or handler sees.
  func readingEvent(for plugin: Catalog.Plugin) throws(Failure) -> RuleEvent {
    let stored = record?.state(of: plugin.nameBytes)
    var state = stored?.json
    if let stored, stored.version != plugin.stateVersion {
      state = try migration.migrate(stored, of: plugin, subject: event.subject, now: event.now)
    }
    return RuleEvent(reading: subject?.name, state: state, now: event.now)
  }

  func typeText(of queued: QueuedEvent) -> String { queue.type(of: queued).text }

  // MARK: Log

  func writeLog(of vm: PluginVM) {
    let operations = vm.operations
    let rules = vm.manifest.rules
    for index in operations.indices {
      guard case .log(let level, let message, let fields) = operations[index] else { continue }
      let rule = operations.rule(at: index)
      context.log.write(
        LogLine(
          LogLine.Level(rawValue: level) ?? .info, message.text, plugin: vm.source.name,
          rule: rules.indices.contains(rule) ? rules[rule].name : nil, event: event.id.text,
          subjectHash: subject.map { LogLine.hash(of: $0.name) }, fields: fields.text))
    }
  }

  /// Writes a line on a failure to the log: `what` came of it, and `more` on it, which differs from event to event.
  func log(_ level: LogLine.Level, _ what: String, _ failure: Failure, more: String = "") {
    let position = failure.file.map { file in " at \(file):\(failure.line ?? 0)" } ?? ""
    context.log.write(
      LogLine(
        level, what + more + position, plugin: failure.plugin, rule: failure.rule, event: event.id.text,
        subjectHash: subject.map { LogLine.hash(of: $0.name) }),
      limitedBy: "\(what) \(failure.plugin) \(failure.rule ?? "") \(failure.kind)\(position)")
  }
}
