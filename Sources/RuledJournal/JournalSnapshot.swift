package import RuledCore

/// A copy of the store as it was right after one sequence, to replay from.
package struct JournalSnapshot: Sendable, Equatable {
  /// The last sequence that it contains.
  package var sequence: UInt64
  /// When it was taken, by the daemon's clock.
  package var at: Timestamp
  /// Its folder, a store that `RocksStore` opens; open a copy of it (`StoreCopy`), since opening a store changes it.
  package var path: String

  init(sequence: UInt64, at: Timestamp, path: String) {
    self.sequence = sequence
    self.at = at
    self.path = path
  }
}
