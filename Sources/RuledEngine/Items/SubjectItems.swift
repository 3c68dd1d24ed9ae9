import RuledCore
import RuledJSON
import RuledLua
import RuledStore

/// What is stored of subjects beside their records: `once` keys, effects to deliver, timers and messages.
final class SubjectItems {
  let onceKeys: OnceKeys
  let effects: EffectWriter
  let timers: TimerTable
  let messages: MessageTable

  init(_ context: EngineContext, batches: BatchQueue, plugins: WorkerPlugins) {
    onceKeys = OnceKeys(batches: batches)
    effects = EffectWriter(context, batches: batches, onceKeys: onceKeys)
    timers = TimerTable(context, batches: batches)
    messages = MessageTable(context, batches: batches, plugins: plugins)
  }

  /// Adds what a plugin's rules asked for to the batch.
  ///
  /// `maySend` messages may follow from each that is sent. `timers` are the bounds of timers that are set.
  func write(
    _ operations: Operations, of plugin: WorkerPlugin, _ event: EventInput, subject: Subject, maySend: Int,
    timers bounds: TimerTable.Bounds, cascade: Cascade?
  ) throws(RequestError) {
    let entry = plugin.entry
    var recorded = 0
    for index in operations.indices where !operations.isVoid(at: index) {
      switch operations[index] {
      case .emit(let effect): try effects.write(effect, of: entry, event, subject: subject)
      case .send(let target, let type, let data):
        messages.send(
          to: target, type: type, data: data, number: index - recorded, of: plugin, event, maySend: maySend,
          cascade: cascade)
      case .once(let key, let lifetime):
        onceKeys.claim(key, for: lifetime, of: entry.name, subject: subject, now: event.now)
      case .setTimer(let name, let type, let data, let due):
        let rule = operations.rule(at: index)
        try timers.set(
          name, type: type, data: data, due: due, of: entry, rule: rule, event, subject: subject, maySend: maySend,
          bounds)
      case .cancelTimer(let name): try timers.cancel(name, of: entry.name, subject: subject)
      case .forget:
        try timers.removeAll(of: entry.name, subject: subject)
        try onceKeys.removeAll(of: entry.name, subject: subject)
      case .read, .part: recorded += 1
      case .decide, .shadowed, .raise, .count, .log: break
      }
    }
  }
}

/// The `once` keys that plugins claimed for subjects.
///
/// They also hold the ids of effects with a key, under names that no rule can use, so that such an effect is recorded once.
final class OnceKeys {
  private let batches: BatchQueue
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 16)

  init(batches: BatchQueue) { self.batches = batches }

  /// Whether the plugin has claimed the key for the subject and the claim has not expired.
  func isClaimed(
    _ name: ByteView, of plugin: String, subject: Subject, now: Int64
  ) throws(RequestError) -> Bool {
    writeKey(name, of: plugin, subject)
    value.removeAll()
    guard try batches.read(key.bytes, of: subject, into: value), let expiry = StoredExpiry.read(value.bytes) else {
      return false
    }
    return expiry == 0 || expiry > now
  }

  /// Claims a key for so many seconds, or for ever.
  func claim(_ name: ByteView, for seconds: Double?, of plugin: String, subject: Subject, now: Int64) {
    writeKey(name, of: plugin, subject)
    put(expiry: seconds.map { now + Int64($0 * 1e6) } ?? 0)
  }

  /// Whether an effect of that id is recorded.
  func isRecorded(effect id: ByteView, of plugin: String, subject: Subject) throws(RequestError) -> Bool {
    writeKey(effect: id, of: plugin, subject)
    value.removeAll()
    return try batches.read(key.bytes, of: subject, into: value)
  }

  func record(effect id: ByteView, of plugin: String, subject: Subject) {
    writeKey(effect: id, of: plugin, subject)
    put(expiry: 0)
  }

  /// Erases all keys of a plugin for the subject.
  func removeAll(of plugin: String, subject: Subject) throws(RequestError) {
    let prefix = StoreKey.bytes { StoreKey.pluginPrefix(.once, subject.name, plugin: plugin, into: $0) }
    try batches.deleteAll(prefix: prefix, of: subject.name)
    subject.lastCommit = batches.current.number
  }

  private func writeKey(_ name: some KeyPart, of plugin: String, _ subject: Subject) {
    key.removeAll()
    StoreKey.once(subject.name, plugin: plugin, key: name, into: key)
  }

  private func writeKey(effect id: ByteView, of plugin: String, _ subject: Subject) {
    writeKey([1] + Array(id), of: plugin, subject)
  }

  private func put(expiry: Int64) {
    value.removeAll()
    value.append(bigEndian: UInt64(bitPattern: expiry))
    batches.current.writes.put(key.bytes, value.bytes)
  }
}

/// Adds the effects of events to the batch, from where the outbox takes them once they are durable.
final class EffectWriter {
  private let context: EngineContext
  private let batches: BatchQueue
  private let onceKeys: OnceKeys
  private let key = ByteBuffer(capacity: 320)
  private let value = ByteBuffer(capacity: 1024)

  init(_ context: EngineContext, batches: BatchQueue, onceKeys: OnceKeys) {
    self.context = context
    self.batches = batches
    self.onceKeys = onceKeys
  }

  /// Whether a keyed effect was recorded before and not forgotten since.
  func isRepeated(_ effect: Operation.Effect, of plugin: String, subject: Subject) throws(RequestError) -> Bool {
    guard effect.isKeyed, !effect.followsForget else { return false }
    return try onceKeys.isRecorded(effect: effect.id, of: plugin, subject: subject)
  }

  /// Adds an effect unless it is a repeat; effects for the client are in the reply alone.
  func write(
    _ effect: Operation.Effect, of plugin: Catalog.Plugin, _ event: EventInput, subject: Subject
  ) throws(RequestError) {
    if effect.isKeyed {
      guard try !isRepeated(effect, of: plugin.name, subject: subject) else { return }
      onceKeys.record(effect: effect.id, of: plugin.name, subject: subject)
    }
    guard context.keepsEffects, !effect.sink.elementsEqual("client".utf8) else { return }
    let stored = EffectKey(subject: Array(subject.name), sequence: context.nextSequence())
    key.removeAll()
    stored.write(to: key)
    value.removeAll()
    var json = JSONWriter(value)
    json.beginObject()
    OutcomeParts.writeMembers(of: effect, plugin, to: &json)
    json.member("subject", string: event.subject)
    json.member("at", Timestamp(microseconds: event.now))
    json.endObject()
    batches.current.writes.put(key.bytes, value.bytes)
    batches.current.effects.append(stored)
  }

  /// Replaces the text of an effect that has not been delivered; false when the effect is gone.
  func replace(_ effect: EffectKey, of subject: Subject, with text: [UInt8]) throws(RequestError) -> Bool {
    key.removeAll()
    effect.write(to: key)
    value.removeAll()
    guard try batches.read(key.bytes, of: subject, into: value) else { return false }
    text.withView { batches.current.writes.put(key.bytes, $0) }
    subject.lastCommit = batches.current.number
    return true
  }

  /// Removes an effect that has not been delivered; false when it is gone.
  func remove(_ effect: EffectKey, of subject: Subject) throws(RequestError) -> Bool {
    key.removeAll()
    effect.write(to: key)
    value.removeAll()
    guard try batches.read(key.bytes, of: subject, into: value) else { return false }
    batches.current.writes.delete(key.bytes)
    subject.lastCommit = batches.current.number
    return true
  }
}
