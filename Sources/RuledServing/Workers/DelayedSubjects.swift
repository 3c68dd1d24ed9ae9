import RuledCore

/// The subjects whose first message can't be applied for now, and when each is tried again.
///
/// A subject that is due remains here until a message of it is applied, so that its next failure makes it wait for longer. Times are those of
/// the monotonic clock, in nanoseconds.
struct DelayedSubjects {
  private struct Delay {
    /// How often its first message was tried.
    var tries: Int
    /// When it is tried again; nil once this is due.
    var until: UInt64?
  }

  private var delays: [[UInt8]: Delay] = [:]

  var isEmpty: Bool { delays.isEmpty }

  /// The number of subjects, due ones included.
  var count: Int { delays.count }

  /// When the next subject is due; nil if none is delayed, or all are due already.
  var nextTry: UInt64? { delays.values.compactMap(\.until).min() }

  /// Whether a subject's messages wait; false once it is due.
  func contains(_ subject: [UInt8]) -> Bool { !delays.isEmpty && delays[subject]?.until != nil }

  /// Delays a subject after a failure, for longer after each failed try; returns the number of tries.
  mutating func delay(_ subject: [UInt8], from now: UInt64, _ backoff: Backoff) -> Int {
    let tries = (delays[subject]?.tries ?? 0) + 1
    delays[subject] = Delay(tries: tries, until: now + backoff.delay(after: tries) * 1_000_000)
    return tries
  }

  /// Ends the delays of the subjects that are due at `time`; returns whether there are any.
  mutating func makeDue(at time: UInt64) -> Bool {
    var isAnyDue = false
    for (subject, delay) in delays {
      guard let until = delay.until, until <= time else { continue }
      delays[subject]?.until = nil
      isAnyDue = true
    }
    return isAnyDue
  }

  mutating func remove(_ subject: [UInt8]) -> Bool { !delays.isEmpty && delays.removeValue(forKey: subject) != nil }

  mutating func removeDue() { delays = delays.filter { $0.value.until != nil } }

  mutating func removeAll() { delays.removeAll() }
}
