/// An amount that events add to a counter.
package struct CounterDelta: Sendable {
  var key: CounterKey
  private(set) var amount: CounterValue
  /// The number of amounts in it, each with reserved room.
  private(set) var amounts = 1
  /// Whether the series is new.
  var isFirst = false
  /// When it is counted, in seconds since 1970.
  let second: UInt32
  /// How many seconds the counter is then kept; 0 if the operation does not say.
  let keep: UInt32

  /// An operation's amount at `now`, in microseconds, for a counter that is then kept for so many seconds.
  init(_ key: CounterKey, _ amount: CounterValue, now: Int64 = 0, keep: UInt32 = 0) {
    self.key = key
    self.amount = amount
    self.keep = keep
    second = Self.second(now)
  }

  /// The second of a time in microseconds.
  static func second(_ time: Int64) -> UInt32 { UInt32(clamping: time / 1_000_000) }

  /// Adds another delta of the same counter and second if both are whole numbers of one sign.
  ///
  /// Floats are added one by one, in their order, as rounding depends on it. Positive and negative amounts are reserved separately.
  fileprivate mutating func add(_ other: CounterDelta) -> Bool {
    guard case .integer(let a) = amount, case .integer(let b) = other.amount, (a < 0) == (b < 0),
      case let (sum, overflow) = a.addingReportingOverflow(b), !overflow, second == other.second, keep == other.keep
    else { return false }
    amount = .integer(sum)
    amounts += other.amounts
    isFirst = isFirst || other.isFirst
    return true
  }
}

extension [CounterDelta] {
  /// How many earlier deltas are searched for one of the same counter.
  private static let searched = 32

  /// Adds up neighbouring deltas of the same counters, as the events of a batch mostly count the same.
  mutating func addUp() {
    guard count > 1 else { return }
    var end = 1
    for index in 1..<count {
      let delta = self[index]
      // By index: a slice would share the array, so that adding to an element would copy all of them.
      let same = (Swift.max(0, end - Self.searched)..<end).last {
        self[$0].key == delta.key && self[$0].amount.isNegative == delta.amount.isNegative
      }
      if let same, self[same].add(delta) { continue }
      if end < index { self[end] = self[index] }
      end += 1
    }
    removeSubrange(end...)
  }
}
