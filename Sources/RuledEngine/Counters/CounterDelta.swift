/// What events add to a counter.
package struct CounterDelta: Sendable {
  /// The counter.
  var key: CounterKey
  /// What is added.
  private(set) var amount: CounterValue
  /// How many amounts that is, for each of which room is reserved.
  private(set) var amounts = 1
  /// Whether the series is new.
  var isFirst = false
  /// When it is counted, in seconds since 1970.
  let second: UInt32
  /// For how many seconds the counter is then kept; 0 if nothing is said of that.
  let keep: UInt32

  /// What an operation adds at `now`, in microseconds, to a counter that is then kept for so many seconds.
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
  /// Floats are added one by one, in their order, as rounding depends on it. What is above zero and what is below are reserved apart.
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
