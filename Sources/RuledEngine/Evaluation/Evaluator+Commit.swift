import CLuaBridge
import RuledCore
import RuledLua
import RuledStore

/// From operations to what is written.
extension Evaluator {
  /// Adds all that came of the event to the batch.
  func commit(
    _ event: EventInput, identity: UInt64, subject: Subject, record: SubjectRecordView?, version: UInt64,
    cascade: Cascade?, outcome: RememberedOutcome
  ) throws(RequestError) {
    let until =
      event.origin == .client
      ? try remember(event, identity: identity, outcome: outcome, subject: subject, record: record)
      : keepRecent(record, now: context.clock.steady)
    for plugin in touched {
      if turns[plugin].hasFailed {
        park(plugin, event)
      } else if !turns[plugin].operations.isDisjoint(with: .written), let vm = machines[plugin] {
        try write(vm, of: plugin, event, subject, cascade)
        if turns[plugin].operations.contains(.counts) { writeCounts(of: turns[plugin]) }
      }
    }
    if let storeFailure { throw storeFailure }
    writeRecord(subject, record, version: version, until: until)
    noteChange(event, version: version)
  }

  /// Writes the subject's record with the new states, the plugins in order of name.
  func writeRecord(_ subject: Subject, _ old: SubjectRecordView?, version: UInt64, until: RememberedUntil) {
    record.removeAll()
    SubjectRecord.writeHeader(version: version, until: until, recent: recent, into: record)
    var next = 0
    old?.forEachPlugin { name, state in
      while let plugin = changed(from: &next) {
        let order = withTurn(of: plugin) { ByteOrder.compare($0.entry.nameBytes, name) }
        if order <= 0 {
          writeState(of: plugin)
          next += 1
        }
        if order == 0 { return }
        if order > 0 { break }
      }
      SubjectRecord.writePlugin(name, state: state, into: record)
    }
    while let plugin = changed(from: &next) {
      writeState(of: plugin)
      next += 1
    }
    let cost = subject.cost
    subject.keepRecord(record.bytes)
    cache.changed(by: subject.cost - cost)
    subject.lastCommit = batch.number
    key.removeAll()
    StoreKey.record(subject.name, into: key)
    batch.writes.put(key.bytes, record.bytes)
  }

  /// The first of the touched plugins, from `next` on, that has a new state; `next` then stands at it.
  private func changed(from next: inout Int) -> Int? {
    while next < touched.count {
      let plugin = touched[next]
      if withTurn(of: plugin, { $0.began && !$0.hasFailed }) { return plugin }
      next += 1
    }
    return nil
  }

  private func writeState(of plugin: Int) {
    withTurn(of: plugin) { turn in
      let state = slice(states, turn.state)
      if state.count > 2 { SubjectRecord.writePlugin(turn.entry.nameBytes, state: state, into: record) }
    }
  }

  private func write(
    _ vm: PluginVM, of plugin: Int, _ event: EventInput, _ subject: Subject, _ cascade: Cascade?
  ) throws(RequestError) {
    let share = turns[plugin].sends > 0 ? messageShare(of: event) : 0
    for (index, operation) in vm.operations.enumerated() where !operation.isVoid {
      switch rb_op_kind(UInt32(operation.kind)) {
      case RB_OP_EMIT: writeEffect(operation, vm, of: plugin, event, subject)
      case RB_OP_SEND: writeMessage(operation, at: index, vm, of: plugin, event, maySend: share, cascade)
      case RB_OP_ONCE: writeOnce(operation, vm, of: plugin, event, subject)
      case RB_OP_TIMER_SET: try writeTimer(operation, vm, of: plugin, event, subject)
      case RB_OP_TIMER_CANCEL: try cancelTimer(vm.bytes(operation.a, operation.a_length), of: plugin, subject)
      case RB_OP_FORGET: try forgetPlugin(plugin, subject)
      default: break
      }
    }
  }

  // MARK: Effects

  private func writeEffect(
    _ operation: rb_op, _ vm: PluginVM, of plugin: Int, _ event: EventInput, _ subject: Subject
  ) {
    if operation.isKeyed {
      guard !isRepeated(operation, vm, of: plugin) else { return }
      writeEffectKey(vm.bytes(operation.d, operation.d_length), subject, of: plugin)
      value.removeAll()
      value.append(bigEndian: UInt64(0))
      batch.writes.put(key.bytes, value.bytes)
    }
    guard !vm.bytes(operation.a, operation.a_length).elementsEqual("client".utf8) else { return }
    key.removeAll()
    let stored = EffectKey(subject: Array(subject.name), sequence: context.nextSequence())
    stored.write(to: key)
    value.removeAll()
    writeEffect(operation, vm, of: plugin, to: value)
    value.append(",\"subject\":" as StaticString)
    value.append(jsonString: event.subject)
    value.append(",\"at\":\"" as StaticString)
    Timestamp(microseconds: event.now).write(to: value)
    value.append("\"}" as StaticString)
    batch.writes.put(key.bytes, value.bytes)
    batch.effects.append(stored)
  }

  // MARK: Once

  private func writeOnce(_ operation: rb_op, _ vm: PluginVM, of plugin: Int, _ event: EventInput, _ subject: Subject) {
    key.removeAll()
    StoreKey.once(
      subject.name, plugin: catalog.plugins[plugin].name, key: vm.bytes(operation.a, operation.a_length), into: key)
    let expiry = operation.flags & 1 != 0 ? event.now + Int64(operation.number * 1e6) : 0
    value.removeAll()
    value.append(bigEndian: UInt64(bitPattern: expiry))
    batch.writes.put(key.bytes, value.bytes)
  }

  // MARK: Watchers

  private func noteChange(_ event: EventInput, version: UInt64) {
    let changes = batch.changes
    let bytes = changes.bytes
    let start = bytes.count
    bytes.append(event.subject)
    let subject = start..<bytes.count
    bytes.append("\"subject\":" as StaticString)
    bytes.append(jsonString: event.subject)
    bytes.append(",\"version\":" as StaticString)
    bytes.append(decimal: Int64(truncatingIfNeeded: version))
    bytes.append(",\"event\":{\"id\":" as StaticString)
    bytes.append(jsonString: event.id)
    bytes.append(",\"type\":" as StaticString)
    bytes.append(jsonString: event.type)
    bytes.append("},\"plugins\":[" as StaticString)
    let names = bytes.count
    forEachTouched { _, turn in
      guard !turn.hasFailed else { return }
      if bytes.count > names { bytes.append(UInt8(ascii: ",")) }
      bytes.append(turn.entry.quotedName)
    }
    let plugins = names..<bytes.count
    bytes.append("],\"decisions\":{" as StaticString)
    bytes.append(decisions)
    bytes.append("},\"effects\":[" as StaticString)
    bytes.append(effects)
    bytes.append("]" as StaticString)
    changes.append(subject: subject, version: version, plugins: plugins)
  }
}
