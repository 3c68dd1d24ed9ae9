import CLuaBridge
import RuledCore
import RuledLua
import RuledStore

/// From operations to the outcome that the client gets.
extension Evaluator {
  /// Gathers decisions, effects and failures of the event as JSON, and hands log lines on.
  func collect() {
    if touched.count > 1 { touched.sort() }
    forEachTouched { plugin, turn in
      if turn.hasFailed {
        if failures.count > 0 { failures.append(UInt8(ascii: ",")) }
        turn.failure?.write(to: failures)
        return
      }
      guard !turn.operations.isEmpty, let vm = machines[plugin] else { return }
      if !turn.operations.isDisjoint(with: .collapsing) { vm.collapseOperations() }
      if turn.operations.contains(.decisions) { collectDecisions(vm, of: turn.entry) }
      if turn.operations.contains(.effects) { collectEffects(vm, of: plugin) }
      if turn.operations.contains(.logs) { takeLogs(of: vm) }
    }
  }

  private func collectDecisions(_ vm: PluginVM, of plugin: Catalog.Plugin) {
    var isFirst = true
    let operations = vm.operations
    for index in operations.indices where operations[index].kind == UInt8(RB_OP_DECIDE.rawValue) {
      let operation = operations[index]
      if isFirst {
        if decisions.count > 0 { decisions.append(UInt8(ascii: ",")) }
        decisions.append(plugin.quotedName)
        decisions.append(":{" as StaticString)
      } else {
        decisions.append(UInt8(ascii: ","))
      }
      isFirst = false
      decisions.append(jsonString: vm.bytes(operation.a, operation.a_length))
      decisions.append(UInt8(ascii: ":"))
      decisions.append(vm.bytes(operation.b, operation.b_length))
    }
    if !isFirst { decisions.append(UInt8(ascii: "}")) }
  }

  private func collectEffects(_ vm: PluginVM, of plugin: Int) {
    for operation in vm.operations where operation.kind == UInt8(RB_OP_EMIT.rawValue) {
      if operation.isKeyed, isRepeated(operation, vm, of: plugin) { continue }
      if effects.count > 0 { effects.append(UInt8(ascii: ",")) }
      effectIDs.append(Array(vm.bytes(operation.d, operation.d_length)))
      writeEffect(operation, vm, of: plugin, to: effects)
      effects.append(UInt8(ascii: "}"))
    }
  }

  /// Appends `{"id":…,"plugin":…,"sink":…,"type":…,"data":…` without its end.
  func writeEffect(_ operation: rb_op, _ vm: PluginVM, of plugin: Int, to buffer: ByteBuffer) {
    buffer.append("{\"id\":" as StaticString)
    buffer.append(jsonString: vm.bytes(operation.d, operation.d_length))
    buffer.append(",\"plugin\":" as StaticString)
    buffer.append(catalog.plugins[plugin].quotedName)
    buffer.append(",\"sink\":" as StaticString)
    buffer.append(jsonString: vm.bytes(operation.a, operation.a_length))
    buffer.append(",\"type\":" as StaticString)
    buffer.append(jsonString: vm.bytes(operation.b, operation.b_length))
    buffer.append(",\"data\":" as StaticString)
    buffer.append(vm.bytes(operation.c, operation.c_length))
  }

  /// Whether an effect with the same stable id was recorded before, in this event or an earlier one, and not forgotten since.
  func isRepeated(_ operation: rb_op, _ vm: PluginVM, of plugin: Int) -> Bool {
    if operation.isVoid { return true }
    guard let subject, !operation.isAfresh else { return false }
    writeEffectKey(vm.bytes(operation.d, operation.d_length), subject, of: plugin)
    value.removeAll()
    return holds(key.bytes, of: subject)
  }

  /// Puts the key under which an effect's stable id is remembered into `key`: a `once` key that no rule can name.
  func writeEffectKey(_ id: UnsafeRawBufferPointer, _ subject: Subject, of plugin: Int) {
    key.removeAll()
    StoreKey.once(subject.name, plugin: catalog.plugins[plugin].name, key: [1] + Array(id), into: key)
  }

  /// Appends the outcome of an event as the client gets it.
  static func write(
    _ outcome: RememberedOutcome, of subject: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, isDuplicate: Bool,
    to buffer: ByteBuffer
  ) {
    buffer.append("{\"subject\":" as StaticString)
    buffer.append(jsonString: subject)
    buffer.append(",\"id\":" as StaticString)
    buffer.append(jsonString: id)
    if isDuplicate {
      buffer.append(",\"duplicate\":true,\"version\":" as StaticString)
    } else {
      buffer.append(",\"duplicate\":false,\"version\":" as StaticString)
    }
    buffer.append(decimal: Int64(outcome.version))
    buffer.append(",\"revision\":\"" as StaticString)
    buffer.append(outcome.revision)
    buffer.append("\",\"decisions\":{" as StaticString)
    buffer.append(outcome.decisions)
    buffer.append("},\"effects\":[" as StaticString)
    buffer.append(outcome.effects)
    buffer.append("],\"failures\":[" as StaticString)
    buffer.append(outcome.failures)
    buffer.append("]}" as StaticString)
  }

  /// Puts the trace into the outcome that ends `buffer`.
  func writeTrace(to buffer: ByteBuffer) {
    buffer.truncate(to: buffer.count - 1)
    buffer.append(",\"trace\":[" as StaticString)
    buffer.append(trace)
    buffer.append("]}" as StaticString)
  }

  // MARK: Log

  /// Hands on what the rules logged.
  func takeLogs(of vm: PluginVM) {
    for operation in vm.operations where operation.kind == UInt8(RB_OP_LOG.rawValue) {
      let rules = vm.manifest.rules
      context.log.write(
        LogLine(
          LogLine.Level(rawValue: Int(operation.integer)) ?? .info,
          String(decoding: vm.bytes(operation.a, operation.a_length), as: UTF8.self), plugin: vm.source.name,
          rule: rules.indices.contains(Int(operation.rule)) ? rules[Int(operation.rule)].name : nil,
          event: event.map { String(decoding: $0.id, as: UTF8.self) }, subjectHash: subjectHash,
          fields: String(decoding: vm.bytes(operation.b, operation.b_length), as: UTF8.self)))
    }
  }

  /// Writes a line on a failure.
  func log(_ level: LogLine.Level, _ message: String, _ failure: Failure) {
    let place = failure.file.map { file in " at \(file):\(failure.line ?? 0)" } ?? ""
    context.log.write(
      LogLine(
        level, message + place, plugin: failure.plugin, rule: failure.rule,
        event: event.map { String(decoding: $0.id, as: UTF8.self) }, subjectHash: subjectHash))
  }

  private var subjectHash: String? {
    subject.map { subject in String(SHA256.hash(subject.name).hex.prefix(12)) }
  }
}
