import RuledCore

/// The subjects whose first message can't be applied for now, and when each is tried again.
///
/// A subject that is due remains here until a message of it is applied, so that its next failure makes it wait for longer. Times are those of
/// the monotonic clock, in nanoseconds.
struct HeldSubjects {
  private struct Hold {
    /// How often its first message was tried.
    var tries: Int
    /// When it is tried again; nil once that is due.
    var until: UInt64?
  }

  private var holds: [[UInt8]: Hold] = [:]

  var isEmpty: Bool { holds.isEmpty }

  /// How many there are, those that are due included.
  var count: Int { holds.count }

  /// When the next one is due; nil if there is none but those that are due already.
  var nextTry: UInt64? { holds.values.compactMap(\.until).min() }

  /// Whether a subject's messages wait; false once it is due.
  func contains(_ subject: [UInt8]) -> Bool { !holds.isEmpty && holds[subject]?.until != nil }

  /// Holds a subject after a failure, for longer the more of its tries have failed; returns how many these are.
  mutating func hold(_ subject: [UInt8], from now: UInt64, _ backoff: Backoff) -> Int {
    let tries = (holds[subject]?.tries ?? 0) + 1
    holds[subject] = Hold(tries: tries, until: now + backoff.delay(after: tries) * 1_000_000)
    return tries
  }

  /// Lets those be tried again that are due at `time`; returns whether there are any.
  mutating func makeDue(at time: UInt64) -> Bool {
    var isAnyDue = false
    for (subject, hold) in holds {
      guard let until = hold.until, until <= time else { continue }
      holds[subject]?.until = nil
      isAnyDue = true
    }
    return isAnyDue
  }

  /// Removes a subject; returns whether it was here.
  mutating func remove(_ subject: [UInt8]) -> Bool { !holds.isEmpty && holds.removeValue(forKey: subject) != nil }

  /// Removes those that are due.
  mutating func removeDue() { holds = holds.filter { $0.value.until != nil } }

  mutating func removeAll() { holds.removeAll() }
}
