package import RuledCore

package struct JournalRange: Sendable {
  /// The first sequence in the range.
  package var first: UInt64 = 0
  /// The last sequence in the range.
  package var last: UInt64 = .max
  /// The earliest `at` in the range.
  package var since: Timestamp?
  /// The latest `at` in the range.
  package var until: Timestamp?
  /// The subject of the entries, nil for all.
  package var subject: String?

  package init() {}
}
