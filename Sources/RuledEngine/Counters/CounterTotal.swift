import RuledCore

/// The value of a counter, how long it is kept, and when it was counted last.
struct CounterTotal: Sendable, Equatable {
  private(set) var value = CounterValue.integer(0)
  /// For how many seconds it is kept after it was counted last; 0 for ever.
  private var keep: UInt32 = 0
  /// When it was counted last, in seconds since 1970; 0 for one that is kept for ever.
  private var last: UInt32 = 0

  init() {}

  /// The total as it is stored: a number, or `[number, keep, last]` for one that is not kept for ever; nil if the value is neither.
  init?(json: JSONValue) {
    guard let parts = json.arrayValue else {
      guard let value = CounterValue(json: json) else { return nil }
      self.value = value
      return
    }
    guard parts.count == 3, let value = CounterValue(json: parts[0]), let keep = parts[1].intValue,
      let last = parts[2].intValue
    else { return nil }
    self.value = value
    self.keep = UInt32(clamping: keep)
    self.last = UInt32(clamping: last)
  }

  var json: JSONValue {
    keep == 0 ? value.json : [value.json, .integer(Int64(keep)), .integer(Int64(last))]
  }

  /// The second from which on it counts as removed; nil for never.
  var end: UInt32? {
    guard keep > 0 else { return nil }
    let (end, overflow) = last.addingReportingOverflow(keep)
    return overflow ? nil : end
  }

  /// Whether it has not been counted for so long that it counts as removed.
  func isOver(at second: UInt32) -> Bool { end.map { $0 <= second } ?? false }

  /// Adds a delta; a counter that is over by then begins at 0.
  mutating func add(_ delta: CounterDelta) {
    if isOver(at: delta.second) { self = CounterTotal() }
    value = value + delta.amount
    if delta.keep > 0 { keep = delta.keep }
    if keep > 0 { last = max(last, delta.second) }
  }
}
