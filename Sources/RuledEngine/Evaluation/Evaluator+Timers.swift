import CLuaBridge
package import RuledCore
import RuledLua
import RuledStore

/// A timer that is due.
package struct DueTimer: Sendable, Hashable {
  /// When it is due, in microseconds.
  package let due: Int64
  /// The subject that it belongs to.
  package let subject: [UInt8]
  /// The plugin that set it.
  package let plugin: [UInt8]
  /// Its name.
  package let name: [UInt8]

  /// A timer.
  package init(due: Int64, subject: [UInt8], plugin: [UInt8], name: [UInt8]) {
    self.due = due
    self.subject = subject
    self.plugin = plugin
    self.name = name
  }
}

extension Evaluator {
  /// How late a timer may fire and still count as in time, in microseconds.
  static let timerGrace: Int64 = 1_000_000

  /// Lets a timer's event reach its subject, unless the timer has been cancelled or set anew since it was found due: then only its due time goes.
  package func fire(_ timer: DueTimer, cascade: Cascade? = nil) throws(RequestError) {
    let subject = try findSubject(named: timer.subject)
    writeTimerKey(timer.name, timer.plugin, subject)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value) else { return forgetDue(timer, subject) }
    let document = EventDocument()
    guard document.parse(value.bytes), document.member("due") != 0 else {
      throw damaged(
        key.bytes, of: subject.name, StoreError(.corrupt, "a timer's value has another form"), malformed: true)
    }
    context.isWhole(key.bytes, malformed: true)
    guard document.integer(document.member("due")) == timer.due else { return forgetDue(timer, subject) }
    let clock = context.clock.now.microseconds
    var event = document.event(now: clock - timer.due > Self.timerGrace ? clock : timer.due)
    event.time = timer.due
    event.attributes = 0
    let mark = batch.mark
    batch.writes.delete(key.bytes)
    forgetDue(timer, subject)
    try handle(event, cascade: cascade, undoing: mark)
  }

  /// Removes the key by which a timer is found when it is due.
  private func forgetDue(_ timer: DueTimer, _ subject: Subject) {
    key.removeAll()
    StoreKey.timerIndex(due: timer.due, timer.subject, plugin: timer.plugin, name: timer.name, into: key)
    batch.writes.delete(key.bytes)
    subject.lastCommit = batch.number
  }

  /// Handles an event of the store's own, whose reply nobody waits for; when it fails, the batch goes back to `mark`.
  func handle(_ event: EventInput, cascade: Cascade?, undoing mark: CommitBatch.Mark) throws(RequestError) {
    value.removeAll()
    let outcome = ByteBuffer(capacity: 256)
    do throws(RequestError) {
      try handle(event, cascade: cascade, into: outcome)
    } catch {
      rollBack(to: mark)
      throw error
    }
  }

  func writeTimer(
    _ operation: rb_op, _ vm: PluginVM, of plugin: Int, _ event: EventInput, _ subject: Subject
  ) throws(RequestError) {
    let name = Array(vm.bytes(operation.a, operation.a_length))
    try cancelTimer(vm.bytes(operation.a, operation.a_length), of: plugin, subject)
    let due = Int64((operation.number * 1e6).rounded())
    let identity = ByteBuffer(capacity: 256)
    identity.append(event.subject)
    identity.append(0)
    identity.append(contentsOf: catalog.plugins[plugin].name)
    identity.append(0)
    identity.append(event.id)
    identity.append(0)
    name.withUnsafeBytes { identity.append($0) }
    identity.append(decimal: due)
    value.removeAll()
    value.append("{\"due\":" as StaticString)
    value.append(decimal: due)
    value.append(",\"type\":" as StaticString)
    value.append(jsonString: vm.bytes(operation.b, operation.b_length))
    value.append(",\"subject\":" as StaticString)
    value.append(jsonString: event.subject)
    value.append(",\"id\":\"" as StaticString)
    UUIDText.derived(from: identity.bytes).write(to: value)
    value.append("\",\"source\":" as StaticString)
    value.append(jsonString: event.source)
    value.append(",\"data\":" as StaticString)
    value.append(vm.bytes(operation.c, operation.c_length))
    value.append(UInt8(ascii: "}"))
    writeTimerKey(name, Array(catalog.plugins[plugin].name.utf8), subject)
    batch.writes.put(key.bytes, value.bytes)
    key.removeAll()
    StoreKey.timerIndex(due: due, subject.name, plugin: catalog.plugins[plugin].name, name: name, into: key)
    value.removeAll()
    batch.writes.put(key.bytes, value.bytes)
    batch.earliestTimer = min(batch.earliestTimer ?? due, due)
    subject.lastCommit = batch.number
  }

  func cancelTimer(_ name: UnsafeRawBufferPointer, of plugin: Int, _ subject: Subject) throws(RequestError) {
    let plugin = Array(catalog.plugins[plugin].name.utf8)
    writeTimerKey(Array(name), plugin, subject)
    value.removeAll()
    guard try read(key.bytes, of: subject, into: value) else { return }
    batch.writes.delete(key.bytes)
    deleteIndex(of: value.bytes, plugin: plugin, name: Array(name), subject)
    subject.lastCommit = batch.number
  }

  /// When a stored timer is due, in microseconds.
  func due(_ timer: UnsafeRawBufferPointer) -> Int64? {
    guard let object = try? JSONValue(parsing: timer) else { return nil }
    return object["due"]?.intValue
  }

  func deleteIndex(of timer: UnsafeRawBufferPointer, plugin: [UInt8], name: [UInt8], _ subject: Subject) {
    guard let due = due(timer) else { return }
    key.removeAll()
    StoreKey.timerIndex(due: due, subject.name, plugin: plugin, name: name, into: key)
    batch.writes.delete(key.bytes)
  }

  func writeTimerKey(_ name: [UInt8], _ plugin: [UInt8], _ subject: Subject) {
    key.removeAll()
    StoreKey.timer(subject.name, plugin: plugin, name: name, into: key)
  }

  /// Erases a plugin's timers and `once` keys for the subject.
  func forgetPlugin(_ plugin: Int, _ subject: Subject) throws(RequestError) {
    let name = Array(catalog.plugins[plugin].name.utf8)
    let prefix = ByteBuffer(capacity: 300)
    StoreKey.pluginPrefix(.timer, subject.name, plugin: name, into: prefix)
    let timers = try readAll(prefix: Array(prefix.bytes), of: subject.name)
    for timer in timers {
      timer.key.withUnsafeBytes { batch.writes.delete($0) }
      timer.value.withUnsafeBytes { value in
        deleteIndex(of: value, plugin: name, name: Array(timer.key.dropFirst(prefix.count)), subject)
      }
    }
    prefix.removeAll()
    StoreKey.pluginPrefix(.once, subject.name, plugin: name, into: prefix)
    try deleteAll(prefix: Array(prefix.bytes), of: subject.name)
    subject.lastCommit = batch.number
  }
}
