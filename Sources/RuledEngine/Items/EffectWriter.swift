package import RuledCore
import RuledJSON
import RuledLua
import RuledStore

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
      onceKeys.keep(effect: effect.id, of: plugin.name, subject: subject)
    }
    guard context.keepsEffects, !effect.sink.elementsEqual("client".utf8) else { return }
    let stored = EffectKey(subject: Array(subject.name), sequence: context.nextSequence())
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

  /// Replaces the text of an effect that has not been delivered, or removes it if there is no other; false when the effect is gone.
  func replace(_ effect: EffectKey, of subject: Subject, with text: [UInt8]?) throws(RequestError) -> Bool {
    effect.write(to: key)
    guard try batches.read(key.bytes, of: subject, into: value) else { return false }
    if let text {
      text.withView { batches.current.writes.put(key.bytes, $0) }
    } else {
      batches.current.writes.delete(key.bytes)
    }
    subject.lastCommit = batches.current.number
    return true
  }
}

extension EffectKey {
  /// Parses a key of the store; nil if it is not an effect's.
  package init?(_ key: ByteView) {
    guard case .effect(let subject, let sequence)? = try? ParsedKey(key) else { return nil }
    self.init(subject: Array(subject), sequence: sequence)
  }

  package func write(to buffer: ByteBuffer) { StoreKey.numbered(.effect, subject, sequence, into: buffer) }
}
