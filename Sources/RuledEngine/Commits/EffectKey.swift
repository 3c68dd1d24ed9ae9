package import RuledCore
import RuledStore

/// Where an effect that has not been delivered stands in the store.
package struct EffectKey: Sendable, Hashable {
  /// The subject whose event emitted it.
  package let subject: [UInt8]
  /// Its number; of one subject's effects the later one has the higher.
  package let sequence: UInt64

  /// The place of an effect.
  package init(subject: [UInt8], sequence: UInt64) {
    self.subject = subject
    self.sequence = sequence
  }

  /// The place that a key of the store names, nil when it is no effect's.
  package init?(_ key: UnsafeRawBufferPointer) {
    guard case .effect(let subject, let sequence)? = try? ParsedKey(key) else { return nil }
    self.init(subject: Array(subject), sequence: sequence)
  }

  /// Appends the key.
  package func write(to buffer: ByteBuffer) { StoreKey.effect(subject, sequence: sequence, into: buffer) }
}
