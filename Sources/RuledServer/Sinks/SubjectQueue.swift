import RuledEngine

/// One subject's effects in a lane, in their order: the first is tried until something has come of it, then the next.
final class SubjectQueue {
  /// Whose they are.
  let subject: [UInt8]
  /// How often the first was tried without success.
  var tries = 0
  /// When the first may be tried again.
  var notBefore: UInt64 = 0
  private var sequences: [UInt64] = []
  private var head = 0

  /// An empty queue.
  init(subject: [UInt8]) { self.subject = subject }

  /// How many effects there are.
  var count: Int { sequences.count - head }
  /// The first effect's number; only when there is one.
  var first: UInt64 { sequences[head] }
  /// All effects in order.
  var keys: [EffectKey] { sequences[head...].map { EffectKey(subject: subject, sequence: $0) } }
  /// The number of the last effect that came.
  private(set) var last: UInt64 = 0

  /// Adds one behind the others.
  func append(_ sequence: UInt64) {
    sequences.append(sequence)
    last = sequence
  }

  /// Something has come of the first.
  func removeFirst() {
    head += 1
    tries = 0
    notBefore = 0
    if head > 32, head * 2 > sequences.count {
      sequences.removeFirst(head)
      head = 0
    }
  }
}
