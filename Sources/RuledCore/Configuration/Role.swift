/// The role of a bearer token's holder; each role may do all that the roles before it may.
package enum Role: String, Sendable, CaseIterable, Comparable {
  /// Reads: query, state, subjects, rules, counters, parked, metrics, the dashboard.
  case reader
  /// Also sends events and watches.
  case writer
  /// Everything.
  case admin

  package static func < (left: Role, right: Role) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .reader: 0
    case .writer: 1
    case .admin: 2
    }
  }
}
