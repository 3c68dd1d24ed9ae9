import RuledCore
import RuledJSON
import RuledLua
import RuledStore

/// One plugin's part in a transaction: state in, rules, state and operations out.
///
/// It is committed whole or not at all.
///
/// Each plugin has one run on a worker, which is reset after each event.
final class PluginRun {
  let plugin: WorkerPlugin
  /// Its rules: read from here, their reference is not counted.
  let loaded: Catalog.Plugin
  /// Whether its VM has begun the event.
  private(set) var began = false
  /// Why it failed; its work is then void.
  private(set) var failure: Failure?
  private(set) var hasFailed = false
  /// The kinds of the operations that its rules asked for.
  var operations: Operation.Kinds = []
  /// How many messages it sends, publications included.
  var sends = 0
  var publications = 0
  /// How many timers it sets that follow like messages.
  var immediateTimers = 0
  var counts = CounterReservation()
  /// The counters that it counted lately.
  var counterKeys = CounterKeyCache()
  /// The events that it has seen, as indices in the queue.
  private(set) var seen: [Int] = []

  /// Its encoded state, as a range of the transaction's `states`.
  private var state = 0..<0
  /// How many of its operations were searched for raised events.
  var searched = 0
  /// How many of its operations were checked.
  var checked = 0
  /// How many bytes its decisions and effects have, of the operations that were checked.
  var outcomeBytes = 0
  /// The processor time of events that other plugins raised, in microseconds.
  private var raisedTime: Int64 = 0
  /// The processor time of a discarded uncounted run, in milliseconds.
  private var discardedMilliseconds = 0
  private var migrationCost: StateMigration.Cost = (0, 0)

  init(_ plugin: WorkerPlugin) {
    self.plugin = plugin
    loaded = plugin.loaded
  }

  /// Whether it has a new state to be written.
  var isDone: Bool { began && !hasFailed }

  /// The encoded state after the event; valid until another plugin runs.
  func state(in transaction: EventTransaction) -> ByteView {
    transaction.states.bytes.extracting(state)
  }

  /// Makes it ready for the next event; its counts must have joined a batch or been released.
  func reset() {
    began = false
    if hasFailed {
      failure = nil
      hasFailed = false
    }
    operations = []
    sends = 0
    publications = 0
    immediateTimers = 0
    seen.removeAll(keepingCapacity: true)
    state = 0..<0
    searched = 0
    checked = 0
    outcomeBytes = 0
    raisedTime = 0
    discardedMilliseconds = 0
    migrationCost = (0, 0)
  }

  // MARK: Running

  /// Runs those of the plugin's rules that listen to an event of the queue.
  ///
  /// A failure voids all that the plugin did in the transaction.
  func takeEvent(at index: Int, rules: [Int], in transaction: EventTransaction) {
    let queued = transaction.queue[index]
    if !loaded.manifest.sources.isEmpty {
      let source = transaction.event.source.text
      guard loaded.manifest.accepts(source: source) else {
        if transaction.event.isExplained {
          transaction.trace.skip(rules[...], of: loaded, reason: loaded.manifest.refusal(ofSource: source))
        }
        return
      }
    }
    if seen.isEmpty { transaction.touch(plugin) }
    seen.append(index)
    guard !hasFailed else { return }
    if !transaction.imposedFailures.isEmpty,
      let failure = transaction.imposedFailures.first(where: { $0.plugin == loaded.name })
    {
      return setFailure(failure)
    }
    if loaded.runtime.hasStopped, let subject = transaction.subject,
      let obstacle = loaded.runtime.obstacle(to: subject), !transaction.isRetrying(plugin)
    {
      setFailure(Failure(plugin: loaded.name, kind: .error, message: obstacle.message))
      if transaction.event.isExplained {
        transaction.trace.skip(rules[...], of: loaded, reason: obstacle.reason)
      }
      return
    }
    guard !transaction.event.isDryRun else { return tryOut(rules, on: queued, in: transaction) }
    let isMeasured = transaction.isNextRunMeasured()
    let started = isMeasured ? EngineClock.monotonic : 0
    do throws(Failure) {
      try attempt(rules, on: queued, in: transaction)
      loaded.runtime.noteSuccess()
      if loaded.runtime.hasStopped, let subject = transaction.subject { loaded.runtime.forgetStops(on: subject) }
    } catch { fail(error, in: transaction) }
    if isMeasured { loaded.runtime.took(EngineClock.monotonic - started) }
  }

  /// Runs rules for a dry run: nothing is measured, counted or logged, and a VM that was stopped is replaced at once.
  private func tryOut(_ rules: [Int], on queued: QueuedEvent, in transaction: EventTransaction) {
    do throws(Failure) { try attempt(rules, on: queued, in: transaction) } catch {
      setFailure(error)
      guard plugin.vm?.isDead == true else { return }
      plugin.dropDeadVM()
      _ = try? transaction.plugins.vm(of: plugin)
    }
  }

  private func fail(_ failure: Failure, in transaction: EventTransaction) {
    setFailure(failure)
    // A stop before the VM has begun the event is that of a migration's step, which has a VM of its own.
    let hasRun = began || plugin.vm?.isDead == true
    let ran = hasRun ? Int64(plugin.vm?.spentMilliseconds ?? 0) * 1_000 : migrationCost.microseconds
    let time = max(Int64(discardedMilliseconds) * 1_000 + ran, raisedTime)
    if let vm = plugin.vm, began || vm.isDead {
      transaction.writeLog(of: vm)
      plugin.dropDeadVM()
    }
    guard transaction.storeFailure == nil, let subject = transaction.subject else { return }
    let consequence = loaded.runtime.noteFailure(
      failure, on: subject, after: time, workers: transaction.context.workers.load(ordering: .relaxed))
    transaction.log(.warn, "a rule failed: ", failure, more: failure.message)
    switch consequence {
    case .suspended:
      transaction.log(
        .error,
        "the plugin is suspended: stopped events of more than \(Limits.subjectsBeforeSuspension) subjects took more "
          + "than a tenth of the workers' time over 10 s", failure)
    case .putOff(let time):
      transaction.log(
        .warn,
        "the plugin is put off for this subject: its events were stopped \(Limits.stopsBeforePuttingOff) times in a row",
        failure, more: "; it goes on in \(time / Limits.second) s")
    case nil: break
    }
  }

  private func setFailure(_ failure: Failure) {
    self.failure = failure
    hasFailed = true
  }

  /// Runs rules on an event, keeps the encoded state, checks the operations, and queues the raised events.
  private func attempt(_ rules: [Int], on queued: QueuedEvent, in transaction: EventTransaction) throws(Failure) {
    let vm =
      began
      ? try runFurther(rules, on: queued, in: transaction) : try runFirst(rules, on: queued, in: transaction)
    let start = transaction.states.count
    transaction.states.append(vm.output)
    state = start..<transaction.states.count
    try checkOperations(vm.operations, in: transaction)
    if operations.contains(.raise) { try queueRaised(vm.operations, in: transaction) }
  }

  // MARK: The first event

  /// Runs rules on the first event that the plugin sees: uncounted if that may suffice, and once more, counted, if it did not.
  private func runFirst(
    _ rules: [Int], on queued: QueuedEvent, in transaction: EventTransaction
  ) throws(Failure) -> PluginVM {
    let event = transaction.event
    let uncounted = !event.isExplained && !event.isDryRun && plugin.uncounted.shouldTry()
    let vm = try transaction.plugins.vm(of: plugin)
    let storeFailure = transaction.storeFailure
    var failure: Failure?
    do throws(Failure) {
      try runOnce(rules, on: queued, vm, uncounted: uncounted, in: transaction)
    } catch { failure = error }
    if vm.endUncounted() {
      if uncounted { plugin.uncounted.noteSuccess() }
      if let failure { throw withCause(failure, vm, in: transaction) }
      return vm
    }
    plugin.uncounted.noteFailure()
    discardedMilliseconds = vm.spentMilliseconds
    began = false
    transaction.storeFailure = storeFailure
    plugin.dropDeadVM()
    let fresh = try transaction.plugins.vm(of: plugin)
    do throws(Failure) { try runOnce(rules, on: queued, fresh, uncounted: false, in: transaction) } catch {
      throw withCause(error, fresh, in: transaction)
    }
    return fresh
  }

  /// Adds the line that put a bad value into the state to a failure, or the line that asked for the `operation` of that number: the events are run once
  /// more to find it.
  func withCause(
    _ failure: Failure, operation: Int = 0, _ vm: PluginVM, in transaction: EventTransaction
  ) -> Failure {
    guard operation > 0 || failure.kind == .state, failure.line == nil, !vm.isDead, !vm.findsCause else {
      return failure
    }
    return vm.withCause(failure, operation: operation) { () throws(Failure) in
      try transaction.withoutExplaining { () throws(Failure) in
        for (count, index) in seen.enumerated() {
          let queued = transaction.queue[index]
          let rules = transaction.rules(of: plugin, listeningTo: transaction.queue.type(of: queued)) ?? []
          if count == 0 {
            try runOnce(rules, on: queued, vm, uncounted: false, in: transaction)
          } else {
            _ = try runFurther(rules, on: queued, in: transaction)
          }
        }
      }
    }
  }

  private func runOnce(
    _ rules: [Int], on queued: QueuedEvent, _ vm: PluginVM, uncounted: Bool, in transaction: EventTransaction
  ) throws(Failure) {
    let stateLimit = transaction.context.stateBytes
    let stored = transaction.record?.state(of: loaded.nameBytes)
    var state = stored?.json
    var budget = transaction.budget(of: loaded)
    if let stored, stored.version != loaded.stateVersion {
      state = try migrate(stored, listeners: rules, &budget, in: transaction)
    }
    var event = transaction.ruleEvent(queued, state, for: loaded)
    if transaction.event.isExplained {
      guard vm.begin(&event, budget: budget) != .failed else { throw vm.failure(rule: nil) }
      began = true
      try runAll(rules, vm, in: transaction)
    } else {
      began = true
      switch vm.runEvent(&event, budget: budget, rules: rules, stateLimit: stateLimit, uncounted: uncounted) {
      case .ended: return
      case .failed(let rule): throw vm.failure(rule: rule.map { loaded.manifest.rules[$0].name })
      case .raised(let done):
        try runRaised(from: 0, vm, in: transaction)
        try runInOrder(rules, from: done, vm, in: transaction)
      }
    }
    if case .failed = vm.encodeState(limit: stateLimit) { throw vm.failure(rule: nil) }
  }

  /// The state in the version that the plugin declares, valid until the next migration; the cost is subtracted from the budget.
  private func migrate(
    _ stored: PluginState, listeners rules: [Int], _ budget: inout Budget, in transaction: EventTransaction
  ) throws(Failure) -> ByteView {
    let event = transaction.event
    do throws(Failure) {
      let state = try transaction.migration.migrate(
        stored, of: loaded, subject: event.subject, now: event.now, cost: &migrationCost)
      budget.spend(instructions: migrationCost.instructions, microseconds: migrationCost.microseconds)
      if event.isExplained { transaction.trace.note(stored, migratedTo: state, of: loaded) }
      return state
    } catch {
      if event.isExplained {
        transaction.trace.skip(rules[...], of: loaded, reason: error.message)
      }
      throw error
    }
  }

  // MARK: Further events

  /// Runs rules on a further event, which another plugin raised or which was parked with the first.
  private func runFurther(
    _ rules: [Int], on queued: QueuedEvent, in transaction: EventTransaction
  ) throws(Failure) -> PluginVM {
    guard raisedTime < Limits.raisedTime * transaction.slowness else {
      throw Failure(
        plugin: loaded.name, kind: .time,
        message: "stopped: the events raised within one event took more than 1 s of processor time")
    }
    let started = EngineClock.processorTime
    defer { raisedTime += EngineClock.processorTime - started }
    let vm = try transaction.plugins.vm(of: plugin)
    guard let data = try? transaction.raisedData.parse(copyOf: transaction.queue.data(of: queued)) else { return vm }
    let begun = vm.beginRaised(
      type: transaction.queue.type(of: queued), data: data, budget: transaction.budget(of: loaded),
      depth: queued.depth, chain: transaction.queue.chain(of: queued))
    guard begun != .failed else { throw vm.failure(rule: nil) }
    try runAll(rules, vm, in: transaction)
    vm.endRaised()
    guard vm.encodeState(limit: transaction.context.stateBytes) != .failed else {
      throw withCause(vm.failure(rule: nil), vm, in: transaction)
    }
    return vm
  }

  // MARK: Rules

  /// Runs rules in order; an explanation lists the rules that a failure keeps from running.
  private func runAll(_ rules: [Int], _ vm: PluginVM, in transaction: EventTransaction) throws(Failure) {
    guard transaction.event.isExplained else { return try runInOrder(rules, vm, in: transaction) }
    for (index, rule) in rules.enumerated() {
      do throws(Failure) { try runInOrder([rule], vm, in: transaction) } catch {
        transaction.trace.skip(
          rules[(index + 1)...], of: loaded, reason: "a rule of the plugin failed before it")
        throw error
      }
    }
  }

  /// Runs rules in order, from the `first` on, each followed by the plugin's own rules for the events that it raised.
  private func runInOrder(
    _ rules: [Int], from first: Int = 0, _ vm: PluginVM, in transaction: EventTransaction
  ) throws(Failure) {
    for index in first..<rules.count {
      let rule = rules[index]
      let before = vm.operations.count
      let result =
        transaction.event.isExplained ? transaction.trace.runTraced(rule, of: loaded, on: vm) : vm.runRule(rule)
      guard result != .failed else { throw vm.failure(rule: loaded.manifest.rules[rule].name) }
      guard result == .done else { continue }
      try runRaised(from: before, vm, in: transaction)
    }
  }

  /// Runs the plugin's own rules on the events that its operations from `first` on raise.
  private func runRaised(from first: Int, _ vm: PluginVM, in transaction: EventTransaction) throws(Failure) {
    var operations = vm.operations
    for index in first..<operations.count where operations.kind(at: index) == .raise {
      guard case .raise(let raised, let data, _, _) = operations[index],
        let rules = transaction.rules(of: plugin, listeningTo: raised)
      else { continue }
      let type = Array(raised)
      guard vm.completeEvent() != .failed else { throw vm.failure(rule: nil) }
      guard let data = try? transaction.raisedData.parse(copyOf: data) else { continue }
      let begun = type.withView { vm.beginRaised(type: $0, data: data) }
      guard begun != .failed else { throw vm.failure(rule: nil) }
      let outer = (transaction.trace.type, transaction.trace.cause)
      if transaction.event.isExplained {
        transaction.trace.type = transaction.trace.word(type.text, of: loaded)
        transaction.trace.cause = (loaded.name, loaded.manifest.rules[vm.operations.rule(at: index)].name)
      }
      defer { (transaction.trace.type, transaction.trace.cause) = outer }
      try runInOrder(rules, vm, in: transaction)
      vm.endRaised()
      operations = vm.operations
    }
  }
}
