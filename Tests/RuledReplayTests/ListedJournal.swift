import RuledCore
import RuledJournal
import RuledStore

/// A journal of given entries.
struct ListedJournal: JournalSource {
  var entries: [JournalEntry]
  var gaps: [JournalGap] = []
  var snapshots: [JournalSnapshot] = []
  var first: UInt64 { entries.first?.sequence ?? 0 }

  func forEach(in range: JournalRange, _ body: (JournalEntry) -> Bool) throws(StoreError) {
    for entry in entries where (range.first...max(range.first, range.last)).contains(entry.sequence) {
      guard range.since.map({ entry.at >= $0 }) ?? true, range.until.map({ entry.at <= $0 }) ?? true else { continue }
      guard body(entry) else { return }
    }
  }
}
