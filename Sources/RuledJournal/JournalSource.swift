package import RuledStore

/// A readable journal: a running daemon's, or the one in a store's folder.
package protocol JournalSource: Sendable {
  /// Calls `body` with each entry in the range, in ascending order of sequence, until it returns false.
  func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError)

  /// The first sequence that it covers, 0 if it is empty.
  var first: UInt64 { get }

  /// The sequences that are missing between the first and the last entry.
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
