package import RuledCore

/// Which entries of a journal are wanted.
package struct JournalRange: Sendable {
  /// The first sequence that is wanted.
  package var first: UInt64 = 0
  /// The last sequence that is wanted.
  package var last: UInt64 = .max
  /// The earliest `at` that is wanted.
  package var since: Timestamp?
  /// The latest `at` that is wanted.
  package var until: Timestamp?
  /// The subject that is wanted, nil for all.
  package var subject: String?

  /// All entries.
  package init() {}
}
