package import RuledCore
import RuledStore

extension EffectKey {
  /// Parses a key of the store; nil if it is not an effect's.
  package init?(_ key: ByteView) {
    guard case .effect(let subject, let sequence)? = try? ParsedKey(key) else { return nil }
    self.init(subject: Array(subject), sequence: sequence)
  }

  package func write(to buffer: ByteBuffer) { StoreKey.effect(subject, sequence: sequence, into: buffer) }
}
