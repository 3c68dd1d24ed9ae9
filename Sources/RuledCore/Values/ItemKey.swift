/// The key of an item that is stored for a subject under a number of its own.
package protocol ItemKey: Sendable, Hashable {
  var subject: [UInt8] { get }
  /// The number, among those of all messages, effects and parked parts; later ones are higher.
  var sequence: UInt64 { get }
  init(subject: [UInt8], sequence: UInt64)
}

extension ItemKey {
  /// The key that a text of the protocol names: the sequence in hexadecimal, a dash, and the subject.
  package init?(text: String) {
    guard let dash = text.firstIndex(of: "-"), let sequence = UInt64(text[..<dash], radix: 16) else { return nil }
    self.init(subject: Array(text[text.index(after: dash)...].utf8), sequence: sequence)
  }

  /// The key as the protocol names it.
  package var text: String { String(sequence, radix: 16) + "-" + subject.text }
}

/// The key of an effect that has not been delivered.
package struct EffectKey: ItemKey {
  package let subject: [UInt8]
  package let sequence: UInt64

  package init(subject: [UInt8], sequence: UInt64) {
    self.subject = subject
    self.sequence = sequence
  }
}

/// The key of a parked part: the events of one plugin that wait for a retry.
package struct ParkedKey: ItemKey {
  package let subject: [UInt8]
  package let sequence: UInt64

  package init(subject: [UInt8], sequence: UInt64) {
    self.subject = subject
    self.sequence = sequence
  }
}
