package import RuledCore
import RuledStore

/// The key of an effect that has not been delivered.
package struct EffectKey: ItemKey {
  package let subject: [UInt8]
  package let sequence: UInt64

  package init(subject: [UInt8], sequence: UInt64) {
    self.subject = subject
    self.sequence = sequence
  }

  /// Parses a key of the store; nil if it is not an effect's.
  package init?(_ key: ByteView) {
    guard case .effect(let subject, let sequence)? = try? ParsedKey(key) else { return nil }
    self.init(subject: Array(subject), sequence: sequence)
  }

  /// Appends the key of the store.
  package func write(to buffer: ByteBuffer) { StoreKey.effect(subject, sequence: sequence, into: buffer) }
}
