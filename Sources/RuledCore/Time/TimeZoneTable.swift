/// One IANA time zone: its offsets from UTC over time.
package struct TimeZoneTable: Sendable, Equatable {
  /// When the offset changes, ascending, in seconds since the epoch.
  let transitions: [Int64]
  /// The offset that holds from the transition at the same position, in seconds east of UTC.
  let offsets: [Int]
  /// The offset before the first transition.
  let firstOffset: Int
  /// The rule after the last transition; without one the last offset stays.
  let rule: PosixTimeZone?

  /// A zone of these parts.
  init(transitions: [Int64], offsets: [Int], firstOffset: Int, rule: PosixTimeZone?) {
    precondition(transitions.count == offsets.count)
    self.transitions = transitions
    self.offsets = offsets
    self.firstOffset = firstOffset
    self.rule = rule
  }

  /// UTC.
  package static let utc = TimeZoneTable(transitions: [], offsets: [], firstOffset: 0, rule: nil)

  /// Seconds east of UTC at a moment in seconds since the epoch.
  ///
  /// - Complexity: O(log *n*) in the number of transitions.
  package func offset(at moment: Int64) -> Int { span(at: moment).offset }

  /// The offset at a moment, and the moment at which the next one begins (`Int64.max` if none does).
  func span(at moment: Int64) -> (offset: Int, end: Int64) {
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= moment { low = middle + 1 } else { high = middle }
    }
    if low < transitions.count { return (low == 0 ? firstOffset : offsets[low - 1], transitions[low]) }
    return rule?.span(at: moment) ?? (offsets.last ?? firstOffset, .max)
  }

  /// The count of civil days from 1970-01-01 to the local date at a moment.
  package func day(at moment: Int64) -> Int { Int(local(moment).flooredDivision(by: 86_400).quotient) }

  /// Seconds since local midnight by the clock on the wall.
  package func secondOfDay(at moment: Int64) -> Int { Int(local(moment).flooredDivision(by: 86_400).remainder) }

  /// The first moment of a civil day, in seconds since the epoch.
  ///
  /// When midnight does not exist it is the moment of the change, when it comes twice the first; for a day that the zone
  /// skipped whole it is the first moment of the next.
  package func start(of day: Int) -> Int64 {
    let midnight = Int64(day) * 86_400
    var moment = midnight - Self.widestOffset
    while true {
      let (offset, end) = span(at: moment)
      let candidate = max(moment, midnight - Int64(offset))
      if candidate < end { return candidate }
      moment = end
    }
  }

  private func local(_ moment: Int64) -> Int64 { moment + Int64(offset(at: moment)) }

  /// No offset from UTC is as large as this, in seconds.
  static let widestOffset: Int64 = 26 * 3_600
}
