import RuledCore
package import RuledWire

/// The loaded effects of one subject in one queue, in their order.
///
/// The first is tried until it is delivered, expired or given up, then the next.
package final class SubjectEffects {
  package let subject: [UInt8]
  /// How often the first effect was tried without success.
  package var tries = 0
  /// When the first effect may be tried again; 0 for at once.
  package var notBefore: UInt64 = 0
  /// Why the last try of the first effect failed.
  package var failure: DeliveryFailure?
  private var sequences: [UInt64] = []
  private var head = 0

  init(of subject: [UInt8]) { self.subject = subject }

  package var count: Int { sequences.count - head }
  /// The first effect's sequence; there must be one.
  package var first: UInt64 { sequences[head] }
  var keys: [EffectKey] { sequences[head...].map { EffectKey(subject: subject, sequence: $0) } }

  func contains(_ sequence: UInt64) -> Bool {
    guard count > 0 else { return false }
    if sequences[head] == sequence { return true }
    let index = position(of: sequence)
    return index < sequences.count && sequences[index] == sequence
  }

  /// Adds an effect in its order, but never before the first, which may be under way; false if it is there already.
  func insert(_ sequence: UInt64) -> Bool {
    guard !contains(sequence) else { return false }
    sequences.insert(sequence, at: count == 0 ? sequences.count : position(of: sequence))
    return true
  }

  /// Removes an effect other than the first.
  func remove(_ sequence: UInt64) {
    let index = position(of: sequence)
    if index < sequences.count, sequences[index] == sequence { sequences.remove(at: index) }
  }

  /// The index of a sequence behind the first, which may be out of order, or the index to insert it at.
  private func position(of sequence: UInt64) -> Int {
    if let last = sequences.last, last < sequence { return sequences.count }
    return sequences[(head + 1)...].partitioningIndex { $0 >= sequence }
  }

  func removeFirst() {
    head += 1
    tries = 0
    notBefore = 0
    failure = nil
    if head > 32, head * 2 > sequences.count {
      sequences.removeFirst(head)
      head = 0
    }
  }
}
