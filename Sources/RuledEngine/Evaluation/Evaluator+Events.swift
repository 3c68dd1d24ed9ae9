import CLuaBridge
package import RuledCore
import RuledLua
import RuledStore

extension Evaluator {
  /// Evaluates an event and appends its outcome to `reply`; what is to be committed joins the batch.
  ///
  /// A repeat of a remembered event runs no rule and gives the first outcome again.
  package func handle(_ event: EventInput, cascade: Cascade? = nil, into reply: ByteBuffer) throws(RequestError) {
    let subject = try findSubject(event.subject)
    let record = try view(subject)
    let identity = event.origin == .client ? Self.identity(event) : 0
    if event.origin == .client, !event.isDryRun,
      try appendRemembered(event, identity: identity, subject: subject, record: record, to: reply)
    {
      return
    }
    try evaluate(event, identity: identity, subject: subject, record: record, cascade: cascade, only: nil, into: reply)
  }

  /// Evaluates an event that is not remembered: all of it joins the batch, or nothing.
  ///
  /// When a parked part is retried, `only` is the plugin whose it is; the others see only what it raises.
  func evaluate(
    _ event: EventInput, identity: UInt64, subject: Subject, record: SubjectRecordView?, cascade: Cascade?, only: Int?,
    into reply: ByteBuffer
  ) throws(RequestError) {
    begin(event, subject)
    defer { end() }
    try run(event, record: record, only: only)
    if let storeFailure { throw storeFailure }
    if let only, let failure = turns[only].failure {
      failedRetry = failure
      return
    }
    collect()
    let isCounted = !event.isDryRun && only == nil
    let version = (record?.version ?? 0) + (isCounted ? 1 : 0)
    let start = reply.count
    let outcome = RememberedOutcome(
      version: version, revision: catalog.revisionText.bytes, decisions: decisions.bytes, effects: effects.bytes,
      failures: failures.bytes)
    Self.write(outcome, of: event.subject, event.id, isDuplicate: false, to: reply)
    if event.isDryRun, event.isExplained { writeTrace(to: reply) }
    if let storeFailure {
      reply.truncate(to: start)
      throw storeFailure
    }
    if event.isDryRun { return }
    let mark = batch.mark
    do throws(RequestError) {
      try commit(
        event, identity: identity, subject: subject, record: record, version: version, cascade: cascade,
        outcome: outcome)
    } catch {
      rollBack(to: mark)
      reply.truncate(to: start)
      throw error
    }
    if event.isExplained { writeTrace(to: reply) }
  }

  private func begin(_ event: EventInput, _ subject: Subject) {
    self.event = event
    self.subject = subject
    queue.removeAll(keepingCapacity: true)
    queueBytes.removeAll()
    states.removeAll()
    seenTexts.removeAll()
    trace.removeAll()
    decisions.removeAll()
    effects.removeAll()
    failures.removeAll()
    effectIDs.removeAll(keepingCapacity: true)
    storeFailure = nil
  }

  func end() {
    event = nil
    subject = nil
    forEachTouched { _, turn in
      if !turn.deltas.isEmpty { giveBackCounts(of: turn) }
      turn.reset()
    }
    touched.removeAll(keepingCapacity: true)
  }

  /// Takes back what joined the batch since `mark`.
  func rollBack(to mark: CommitBatch.Mark) {
    context.counters.release(batch.counters[mark.counters...])
    batch.rollBack(to: mark)
  }

  /// Shows the event to the plugins in order of name, then what they raised, in the order raised.
  private func run(_ event: EventInput, record: SubjectRecordView?, only: Int?) throws(RequestError) {
    let empty = 0..<0
    queue.append(QueuedEvent(type: empty, data: empty, chain: empty, origin: -1, depth: 0))
    for text in retried where raisedDocument.parse(text) {
      queue.append(
        QueuedEvent(
          type: keep(raisedDocument.string(raisedDocument.member("type"))), data: keep(raisedDocument.text(of: "data")),
          chain: empty, origin: -1, depth: 0))
    }
    let given = queue.count
    var next = 0
    while next < queue.count, storeFailure == nil {
      let queued = queue[next]
      let type = next == 0 ? event.type : slice(queueBytes, queued.type)
      if event.isExplained {
        showExplained(queued, isFirst: next == 0, type: String(decoding: type, as: UTF8.self), event, record)
        next += 1
        continue
      }
      let heard = listeners(to: type)
      for listener in heard.plugins where listener.plugin != queued.origin {
        if next < given, let only, listener.plugin != only { continue }
        withTurn(of: listener.plugin) { turn in
          show(queued, isFirst: next == 0, to: listener.plugin, turn, rules: listener.rules, event, record)
        }
      }
      next += 1
    }
  }

  /// Lets every plugin handle an event of the commit, in order of name, or traces why none of its rules hears it.
  private func showExplained(
    _ queued: QueuedEvent, isFirst: Bool, type: String, _ event: EventInput, _ record: SubjectRecordView?
  ) {
    let heard = catalog.listeners(to: type)
    for plugin in catalog.plugins.indices where plugin != queued.origin {
      if let listener = heard.first(where: { $0.plugin == plugin }) {
        show(queued, isFirst: isFirst, to: plugin, turns[plugin], rules: listener.rules, event, record)
      } else {
        explainUnfired(plugin, catalog.plugins[plugin].order[...], heard: [], type: type, "")
      }
    }
  }

  /// Lets one plugin handle an event of the commit.
  private func show(
    _ queued: QueuedEvent, isFirst: Bool, to plugin: Int, _ turn: Turn, rules: [Int], _ event: EventInput,
    _ record: SubjectRecordView?
  ) {
    let entry = turn.entry
    if !entry.manifest.sources.isEmpty, !entry.manifest.accepts(source: String(decoding: event.source, as: UTF8.self)) {
      if event.isExplained { explainSource(plugin, rules, type: type(of: queued, isFirst: isFirst, event)) }
      return
    }
    if !turn.began && !turn.hasFailed { touched.append(plugin) }
    noteSeen(queued, isFirst: isFirst, turn, event)
    guard !turn.hasFailed else { return }
    guard !entry.runtime.isSuspended || resumes == plugin else {
      turn.failure = Failure(
        plugin: entry.name, kind: .error,
        message: "the plugin is suspended, as it was stopped three times in a row; reload it or retry its events")
      if event.isExplained { explainSuspended(plugin, rules, type: type(of: queued, isFirst: isFirst, event)) }
      return
    }
    samples &+= 1
    let measured = samples & 15 == 0
    let started = measured ? EngineClock.monotonic : 0
    do throws(Failure) {
      try evaluate(queued, isFirst: isFirst, plugin: plugin, turn, rules: rules, event, record)
      entry.runtime.succeeded()
    } catch {
      fail(plugin, error)
    }
    if measured { entry.runtime.took(EngineClock.monotonic - started) }
  }

  private func fail(_ plugin: Int, _ failure: Failure) {
    turns[plugin].failure = failure
    let entry = catalog.plugins[plugin]
    if let machine = machines[plugin], turns[plugin].began || machine.isDead {
      takeLogs(of: machine)
      if machine.isDead { machines[plugin] = nil }
    }
    guard storeFailure == nil else { return }
    let isSuspended = entry.runtime.failed(failure.kind)
    log(.warn, "a rule failed: \(failure.message)", failure)
    if isSuspended { log(.error, "the plugin is suspended, as it was stopped three times in a row", failure) }
  }

  private func evaluate(
    _ queued: QueuedEvent, isFirst: Bool, plugin: Int, _ turn: Turn, rules: [Int], _ event: EventInput,
    _ record: SubjectRecordView?
  ) throws(Failure) {
    let vm: PluginVM
    if turn.began {
      guard turn.raisedTime < Limits.raisedTime else {
        throw Failure(
          plugin: turn.entry.name, kind: .time,
          message: "stopped: the events raised within one event took more than 1 s of processor time")
      }
      let started = EngineClock.processorTime
      defer { turn.raisedTime += EngineClock.processorTime - started }
      vm = try ready(plugin)
      guard raisedDocument.parse(slice(queueBytes, queued.data)) else { return }
      let begun = vm.beginRaised(
        type: slice(queueBytes, queued.type), document: raisedDocument.handle, data: 1,
        budget: catalog.plugins[plugin].manifest.budget, depth: queued.depth, chain: slice(queueBytes, queued.chain))
      guard begun != .failed else { throw vm.failure(rule: nil) }
      try runAll(rules, of: plugin, on: vm, queued, isFirst: isFirst, event)
      vm.endRaised()
      guard vm.finish(limit: context.stateBytes) != .failed else { throw vm.failure(rule: nil) }
    } else {
      vm = try open(plugin, rules, queued, isFirst: isFirst, event, record)
    }
    let start = states.count
    states.append(vm.output)
    turn.state = start..<states.count
    try check(vm, turn, event)
    if turn.operations.contains(.raises) { try takeRaises(of: vm, plugin) }
  }

  /// The type of an event of the commit.
  private func type(of queued: QueuedEvent, isFirst: Bool, _ event: EventInput) -> String {
    String(decoding: isFirst ? event.type : slice(queueBytes, queued.type), as: UTF8.self)
  }

  /// Runs the rules in order; an explanation has the others of the plugin in their places among them.
  func runAll(
    _ rules: [Int], of plugin: Int, on vm: PluginVM, _ queued: QueuedEvent, isFirst: Bool, _ event: EventInput
  ) throws(Failure) {
    guard event.isExplained else { return try runRules(rules, of: plugin, on: vm, event) }
    let type = type(of: queued, isFirst: isFirst, event)
    let order = catalog.plugins[plugin].order
    for (place, rule) in order.enumerated() {
      guard rules.contains(rule) else {
        explainUnfired(plugin, [rule], heard: [], type: type, "")
        continue
      }
      do throws(Failure) { try runRules([rule], of: plugin, on: vm, event) } catch {
        explainUnfired(plugin, order[(place + 1)...], heard: rules, type: type, "a rule of the plugin failed before it")
        throw error
      }
    }
  }

  /// Runs the rules in order, each followed by what it raised.
  func runRules(_ rules: [Int], of plugin: Int, on vm: PluginVM, _ event: EventInput) throws(Failure) {
    let entry = catalog.plugins[plugin]
    for rule in rules {
      let before = vm.operations.count
      let result = event.isExplained ? explained(rule, of: plugin, on: vm) : vm.run(rule: rule)
      guard result != .failed else { throw vm.failure(rule: entry.manifest.rules[rule].name) }
      guard result == .done else { continue }
      try runRaised(from: before, of: plugin, on: vm, event)
    }
  }

  /// Lets the plugin's own rules see what the rule that just ran raised, its operations being those from `first` on.
  func runRaised(from first: Int, of plugin: Int, on vm: PluginVM, _ event: EventInput) throws(Failure) {
    for index in first..<vm.operations.count {
      let operation = vm.operations[index]
      guard operation.kind == UInt8(RB_OP_RAISE.rawValue) else { continue }
      try runOwn(operation, of: plugin, on: vm, event)
    }
  }

  /// Lets the plugin's own rules see what one of them raised.
  private func runOwn(_ raised: rb_op, of plugin: Int, on vm: PluginVM, _ event: EventInput) throws(Failure) {
    let type = Array(vm.bytes(raised.a, raised.a_length))
    let own = type.withUnsafeBytes { listeners(to: $0) }.plugins.first { $0.plugin == plugin }
    guard let own else { return }
    guard raisedDocument.parse(vm.bytes(raised.b, raised.b_length)) else { return }
    let begun = type.withUnsafeBytes { vm.beginRaised(type: $0, document: raisedDocument.handle, data: 1) }
    guard begun != .failed else { throw vm.failure(rule: nil) }
    try runRules(own.rules, of: plugin, on: vm, event)
    vm.endRaised()
  }

  /// Queues for the others what a plugin raised, now that it is done without a failure.
  private func takeRaises(of vm: PluginVM, _ plugin: Int) throws(Failure) {
    let operations = vm.operations
    for index in turns[plugin].raisesTaken..<operations.count {
      let operation = operations[index]
      guard operation.kind == UInt8(RB_OP_RAISE.rawValue) else { continue }
      guard queue.count < Self.queueLimit else {
        throw Failure(
          plugin: catalog.plugins[plugin].name, kind: .cycle,
          message: "more than \(Self.queueLimit) events were raised within one event")
      }
      let type = keep(vm.bytes(operation.a, operation.a_length))
      let data = keep(vm.bytes(operation.b, operation.b_length))
      let chainStart = queueBytes.count
      queueBytes.append(vm.bytes(operation.c, operation.c_length))
      queueBytes.append(" > " as StaticString)
      queueBytes.append(vm.bytes(operation.a, operation.a_length))
      queue.append(
        QueuedEvent(
          type: type, data: data, chain: chainStart..<queueBytes.count, origin: plugin, depth: Int(operation.integer)))
    }
    turns[plugin].raisesTaken = operations.count
  }

  /// What can only be told once all rules have run: too many messages, too large an outcome, too many counters.
  private func check(_ vm: PluginVM, _ turn: Turn, _ event: EventInput) throws(Failure) {
    var sends = 0
    let operations = vm.operations
    let counted = turn.deltas.count
    for index in turn.checked..<operations.count {
      let kind = rb_op_kind(UInt32(operations[index].kind))
      turn.operations.formUnion(OperationKinds(kind))
      switch kind {
      case RB_OP_SEND: sends += 1
      case RB_OP_DECIDE, RB_OP_EMIT:
        turn.outcomeBytes +=
          Int(operations[index].a_length + operations[index].b_length + operations[index].c_length) + 64
      case RB_OP_COUNT: turn.deltas.append(Self.delta(operations[index], vm))
      default: break
      }
    }
    turn.checked = operations.count
    if turn.deltas.count > counted { try reserve(turn, from: counted) }
    if sends > 0 { try checkMessages(turn.sends + sends, of: turn, event) }
    guard turn.outcomeBytes <= Limits.outcomeBytes else {
      throw Failure(
        plugin: turn.entry.name, kind: .value,
        message: "decisions and effects are \(turn.outcomeBytes) bytes, more than the 1 MiB that an outcome may have")
    }
  }

  // MARK: Bytes

  func slice(_ buffer: ByteBuffer, _ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: buffer.bytes[range])
  }

  private func keep(_ bytes: UnsafeRawBufferPointer) -> Range<Int> {
    let start = queueBytes.count
    queueBytes.append(bytes)
    return start..<queueBytes.count
  }

  /// Remembers the event as text, in case the plugin's part has to be parked.
  private func noteSeen(_ queued: QueuedEvent, isFirst: Bool, _ turn: Turn, _ event: EventInput) {
    guard !isFirst else {
      turn.seen.append(0..<0)
      return
    }
    let start = seenTexts.count
    writeEvent(type: slice(queueBytes, queued.type), data: slice(queueBytes, queued.data), like: event, to: seenTexts)
    turn.seen.append(start..<seenTexts.count)
  }

  /// Appends an event of another type and data, for the same subject and with the same id, source and time.
  func writeEvent(
    type: UnsafeRawBufferPointer, data: UnsafeRawBufferPointer, like event: EventInput, to buffer: ByteBuffer
  ) {
    buffer.append("{\"type\":" as StaticString)
    buffer.append(jsonString: type)
    buffer.append(",\"subject\":" as StaticString)
    buffer.append(jsonString: event.subject)
    buffer.append(",\"id\":" as StaticString)
    buffer.append(jsonString: event.id)
    buffer.append(",\"source\":" as StaticString)
    buffer.append(jsonString: event.source)
    buffer.append(",\"time\":\"" as StaticString)
    Timestamp(microseconds: event.time).write(to: buffer)
    buffer.append("\",\"data\":" as StaticString)
    buffer.append(data)
    buffer.append(UInt8(ascii: "}"))
  }
}
