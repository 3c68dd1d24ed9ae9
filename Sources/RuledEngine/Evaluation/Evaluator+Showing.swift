import CLuaBridge
import RuledCore
import RuledLua
import RuledStore

/// The first show of an event to a plugin's machine.
extension Evaluator {
  /// The plugin's machine, to show the event at hand to.
  func ready(_ plugin: Int) throws(Failure) -> PluginVM {
    do throws(LoadError) {
      let vm = try machine(plugin)
      vm.host = self
      return vm
    } catch {
      throw Failure(
        plugin: catalog.plugins[plugin].name, kind: .error, message: error.message, file: error.file, line: error.line)
    }
  }

  /// Shows the event to a machine that has not seen anything of this commit: uncounted when that may do, and if it does not, once more.
  func open(
    _ plugin: Int, _ rules: [Int], _ queued: QueuedEvent, isFirst: Bool, _ event: EventInput,
    _ record: SubjectRecordView?
  ) throws(Failure) -> PluginVM {
    let attempt = !event.isExplained && turns[plugin].attempts.shouldTry()
    let vm = try ready(plugin)
    let storeFailure = storeFailure
    var failure: Failure?
    do throws(Failure) {
      try show(queued, isFirst: isFirst, to: plugin, rules, on: vm, event, record, attempt: attempt)
    } catch { failure = error }
    if vm.settle() {
      if attempt { turns[plugin].attempts.noteSuccess() }
      if let failure { throw failure }
      return vm
    }
    turns[plugin].attempts.noteFailure()
    turns[plugin].began = false
    self.storeFailure = storeFailure
    if vm.isDead { machines[plugin] = nil }
    let fresh = try ready(plugin)
    try show(queued, isFirst: isFirst, to: plugin, rules, on: fresh, event, record, attempt: false)
    return fresh
  }

  /// Begins the event in a machine, runs the rules and encodes the state.
  private func show(
    _ queued: QueuedEvent, isFirst: Bool, to plugin: Int, _ rules: [Int], on vm: PluginVM, _ event: EventInput,
    _ record: SubjectRecordView?, attempt: Bool
  ) throws(Failure) {
    var native = native(queued, isFirst: isFirst, of: plugin, event, record)
    let budget = catalog.plugins[plugin].manifest.budget
    if event.isExplained {
      guard vm.begin(&native, budget: budget) != .failed else { throw vm.failure(rule: nil) }
      turns[plugin].began = true
      try runAll(rules, of: plugin, on: vm, queued, isFirst: isFirst, event)
    } else {
      turns[plugin].began = true
      switch vm.run(&native, budget: budget, rules: rules, stateLimit: context.stateBytes, attempt: attempt) {
      case .ended: return
      case .failed(let rule): throw vm.failure(rule: rule.map { catalog.plugins[plugin].manifest.rules[$0].name })
      case .raised(let done):
        try runRaised(from: 0, of: plugin, on: vm, event)
        try runRules(Array(rules[done...]), of: plugin, on: vm, event)
      }
    }
    guard vm.finish(limit: context.stateBytes) != .failed else { throw vm.failure(rule: nil) }
  }

  /// The event as a machine takes it.
  private func native(
    _ queued: QueuedEvent, isFirst: Bool, of plugin: Int, _ event: EventInput, _ record: SubjectRecordView?
  ) -> rb_event {
    let empty = UnsafeRawBufferPointer(start: states.bytes.baseAddress, count: 0)
    var native = rb_event()
    native.id = rb_slice(event.id)
    native.source = rb_slice(event.source)
    native.subject = rb_slice(event.subject)
    native.time = Double(event.time) / 1e6
    native.now = Double(event.now) / 1e6
    native.seed = hash64(event.id, seed: subject.map { hash64($0.name, seed: 0) } ?? 0)  // the same on each run
    native.state = rb_slice(record?.state(of: catalog.plugins[plugin].nameBytes) ?? empty)
    native.explain = event.isExplained
    if isFirst {
      native.type = rb_slice(event.type)
      native.document = event.document
      native.data = event.data
      native.attributes = event.attributes
      native.chain = rb_slice(event.type)
    } else {
      native.type = rb_slice(slice(queueBytes, queued.type))
      native.document = raisedDocument.handle
      native.data = raisedDocument.parse(slice(queueBytes, queued.data)) ? 1 : 0
      native.depth = Int32(queued.depth)
      native.chain = rb_slice(slice(queueBytes, queued.chain))
    }
    return native
  }
}
