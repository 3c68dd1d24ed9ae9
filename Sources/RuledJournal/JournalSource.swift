package import RuledCore
package import RuledStore

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

/// A part of the history that the journal does not have.
package struct JournalGap: Sendable, Equatable {
  /// The first sequence that is missing.
  package var first: UInt64
  /// The last sequence that is missing.
  package var last: UInt64
  /// Why it is missing.
  package var reason: String

  /// A gap.
  package init(first: UInt64, last: UInt64, reason: String) {
    self.first = first
    self.last = last
    self.reason = reason
  }
}

/// A copy of the store as it was right after one sequence, to replay from.
package struct JournalSnapshot: Sendable, Equatable {
  /// The last sequence that it contains.
  package var sequence: UInt64
  /// When it was taken, by the daemon's clock.
  package var at: Timestamp
  /// Its folder, a store that `RocksStore` opens; open a copy of it (`StoreCopy`), since opening a store changes it.
  package var path: String

  /// A snapshot.
  package init(sequence: UInt64, at: Timestamp, path: String) {
    self.sequence = sequence
    self.at = at
    self.path = path
  }
}

/// A journal that can be read: that of a running daemon, or that in the folder of a store.
package protocol JournalSource: Sendable {
  /// Calls `body` with each entry in the range, in ascending order of sequence, until it returns false.
  func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError)

  /// What is missing between the first and the last entry.
  var gaps: [JournalGap] { get }

  /// The snapshots, the oldest first.
  var snapshots: [JournalSnapshot] { get }
}
