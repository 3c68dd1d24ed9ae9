import RuledCore
import RuledDelivery
import RuledEngine
import RuledJSON
import RuledStore

/// The undelivered effects in the store: reads single ones, and removes delivered ones; confined to the outbox's thread.
final class EffectStore {
  /// The value under an effect's key.
  enum Fetched {
    /// The effect; its text is in `value`.
    case found(StoredEffect)
    case gone
    /// Something that can't be read: the effect stays, and the later ones of its subject wait.
    case unreadable
  }

  private let context: EngineContext
  private let backoff: Backoff
  /// The last key read.
  let keyBuffer = ByteBuffer(capacity: 320)
  /// The text of the last effect read.
  let value = ByteBuffer(capacity: 4096)
  let document = TapeDocument()
  /// Effects given up before this sequence are tried again.
  ///
  /// A sequence and not a time, so that clocks set back do no harm.
  private var retriesBefore: UInt64
  /// Effects to remove from the store, and when to try next.
  private var removals: [(key: EffectKey, sink: Sink)] = []
  private var nextRemoval: UInt64 = 0
  private let writes = WriteSet(capacity: 4096)
  private static let storedKey = StoredValue(name: "anonymous_key")
  /// The key of anonymous ids; empty before its first use.
  private var key: [UInt8] = []

  init(_ context: EngineContext, _ backoff: Backoff) {
    self.context = context
    self.backoff = backoff
    retriesBefore = context.nextSequence()
  }

  func fetch(_ key: EffectKey) -> Fetched {
    keyBuffer.removeAll()
    key.write(to: keyBuffer)
    value.removeAll()
    do throws(StoreError) {
      guard try context.store.get(keyBuffer.bytes, into: value) else { return .gone }
      context.clearDamage(keyBuffer.bytes)
    } catch {
      context.noteDamage(keyBuffer.bytes, of: key.subject, error)
      return .unreadable
    }
    guard let effect = StoredEffect(value.bytes, document) else {
      reportMalformed(key)
      return .unreadable
    }
    context.clearDamage(keyBuffer.bytes, malformed: true)
    return .found(effect)
  }

  func reportMalformed(_ key: EffectKey) {
    context.noteDamage(
      StoreKey.bytes { key.write(to: $0) }, of: key.subject, StoreError(.corrupt, "an effect has another form"),
      malformed: true)
  }

  /// The text of the last effect read, as it was emitted.
  func emitted(_ effect: StoredEffect) -> [UInt8] { effect.emitted(value.bytes, document) }

  /// Id and text with which the last effect read leaves; nil while the store can't give the key of anonymous ids.
  func leaving(_ effect: StoredEffect, anonymously: Bool) -> (id: String, text: [UInt8])? {
    guard anonymously else { return (effect.id, emitted(effect)) }
    guard let key = anonymousKey() else { return nil }
    let id = SHA256.authenticator(key: key) { begun in
      var hash = begun
      hash.update(effect.id)
      return hash.finish()
    }.hex
    return (id, effect.emitted(value.bytes, document, anonymousID: id))
  }

  /// The key of anonymous ids, made and stored at its first use.
  private func anonymousKey() -> [UInt8]? {
    if !key.isEmpty { return key }
    do throws(StoreError) {
      if let stored = try Self.storedKey.read(from: context.store) {
        key = Array(stored.bytes)
      } else {
        let new = (0..<32).map { _ in UInt8.random(in: 0 ... .max) }
        try Self.storedKey.write(to: context.store) { buffer in new.withView { buffer.append($0) } }
        key = new
      }
      return key
    } catch {
      context.log.error("anonymous effects wait for their key: \(error)")
      return nil
    }
  }

  /// Whether an effect is given up, and not to be tried again.
  func isGivenUp(_ effect: StoredEffect) -> Bool { effect.givenUpAfter.map { $0 >= retriesBefore } ?? false }

  func retryGivenUp() { retriesBefore = context.nextSequence() }

  /// When to try the removals; nil without any.
  var nextRemovals: UInt64? { removals.isEmpty ? nil : nextRemoval }

  /// Removes an effect from the store at the end of the tick.
  func remove(_ key: EffectKey, of sink: Sink) {
    sink.ended(key)
    sink.completed.insert(key)
    removals.append((key, sink))
  }

  /// Removes delivered and expired effects from the store.
  func commitRemovals(now: UInt64) {
    guard !removals.isEmpty, now >= nextRemoval else { return }
    writes.removeAll()
    for removal in removals {
      keyBuffer.removeAll()
      removal.key.write(to: keyBuffer)
      writes.delete(keyBuffer.bytes)
    }
    do throws(StoreError) {
      try context.store.commit(writes, durable: false)
    } catch {
      context.log.error(
        "delivered effects can't be removed from the store yet; after a crash they are delivered again: \(error)")
      nextRemoval = now < .max - backoff.longest ? now + backoff.first : now
      return
    }
    nextRemoval = 0
    for removal in removals { removal.sink.completed.remove(removal.key) }
    removals.removeAll(keepingCapacity: removals.capacity <= 4096)
  }
}
