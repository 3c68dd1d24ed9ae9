import RuledCore
import RuledJournal

struct ComparedRange: Sendable {
  private(set) var since: Timestamp?
  private(set) var until: Timestamp?
  private(set) var first: UInt64 = 0
  private(set) var last: UInt64 = 0

  mutating func add(_ entry: JournalEntry) {
    if since.map({ entry.at < $0 }) ?? true { since = entry.at }
    if until.map({ entry.at > $0 }) ?? true { until = entry.at }
    if first == 0 || entry.sequence < first { first = entry.sequence }
    last = max(last, entry.sequence)
  }

  mutating func merge(_ other: ComparedRange) {
    if let theirs = other.since, since.map({ theirs < $0 }) ?? true { since = theirs }
    if let theirs = other.until, until.map({ theirs > $0 }) ?? true { until = theirs }
    if other.first > 0, first == 0 || other.first < first { first = other.first }
    last = max(last, other.last)
  }
}
