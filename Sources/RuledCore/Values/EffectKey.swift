/// The key of an effect that has not been delivered.
package struct EffectKey: ItemKey {
  package let subject: [UInt8]
  package let sequence: UInt64

  package init(subject: [UInt8], sequence: UInt64) {
    self.subject = subject
    self.sequence = sequence
  }
}
