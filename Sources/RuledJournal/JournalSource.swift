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
  package var reason: String
  /// Whether the entries are there, and only a snapshot is missing to replay them from.
  package var isListed: Bool

  package init(first: UInt64, last: UInt64, reason: String, isListed: Bool = false) {
    self.first = first
    self.last = last
    self.reason = reason
    self.isListed = isListed
  }
}

extension JournalGap {
  /// The gap as `log`, `journal` and reports show it.
  package var json: JSONValue {
    var json: JSONObject = [
      "first": .integer(Int64(clamping: first)), "last": .integer(Int64(clamping: last)), "reason": .string(reason),
    ]
    if isListed { json["listed"] = true }
    return .object(json)
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

  /// The first sequence that it covers, 0 if it is empty.
  var first: UInt64 { get }

  /// What is missing between the first and the last entry.
  var gaps: [JournalGap] { get }

  /// The snapshots, the oldest first.
  var snapshots: [JournalSnapshot] { get }
}

extension JournalSource {
  /// The snapshots that entries can be replayed from: none of the entries that follow them was removed.
  package var bases: [JournalSnapshot] {
    let first = first
    return snapshots.filter { $0.sequence + 1 >= first }
  }

  /// The entries up to `last` that can't be replayed, because the entries before them were removed; nil if there are none.
  package func withoutBase(through last: UInt64) -> JournalGap? {
    let first = first
    let end = min(last, bases.first?.sequence ?? last)
    guard first > 1, end >= first else { return nil }
    return JournalGap(
      first: first, last: end,
      reason: "what came before was removed, and there is no snapshot of the store from then to replay them from",
      isListed: true)
  }
}
