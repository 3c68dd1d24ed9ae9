import RuledCore
import RuledStore

/// Reads the entries in the commits of the log.
///
/// In a commit, the journal's record of an event follows the event's writes: the outcome, if a client sent the event, and the subject's
/// record. The commit also has the sequence of its last change, so its entries are numbered backwards from there.
struct CommitReader {
  private var found: [JournaledWrites] = []
  private let sequenceKey = StoredValue.sequence.key

  /// Calls `body` with each entry of a commit, in ascending order; a silent one gets the sequence of the entry before it.
  mutating func read(_ commit: LoggedCommit, after last: UInt64, _ body: (EntryView) -> Void) {
    let end = sequenceKey.withView { commit.findJournaled(&found, sequence: $0) }
    var numbered: UInt64 = 0
    for writes in found where !JournalRecord.isSilent(writes.head) { numbered += 1 }
    var sequence = (end ?? last + numbered) - numbered
    for writes in found {
      if !JournalRecord.isSilent(writes.head) { sequence += 1 }
      guard let record = JournalRecord(writes.head), let view = Self.view(of: record, writes, sequence) else {
        continue
      }
      body(view)
    }
  }

  /// The entry of a record and the writes before it; nil if they do not belong together.
  private static func view(of record: JournalRecord, _ writes: JournaledWrites, _ sequence: UInt64) -> EntryView? {
    var view = EntryView(record, text: writes.text)
    view.sequence = sequence
    switch record.origin {
    case .forget:
      view.subject = writes.text
      view.text = .empty
      return view
    case .rules:
      var reader = BlockReader(record.rest)
      view.revision = reader.string() ?? .empty
      return view
    case .client:
      guard let outcome = try? RememberedOutcome(writes.outcome) else { return nil }
      view.version = outcome.version
      view.revision = outcome.revision
      view.results = outcome.results
      if record.flags.contains(.lacksID) {
        view.id = outcome.id
        if case .outcome(_, _, .plain(_, let id))? = try? ParsedKey(writes.outcomeKey) { view.id = id }
      }
      var reader = BlockReader(record.rest)
      view.plugins = reader.string()
    case .message, .timer, .retry, .kept:
      var reader = BlockReader(record.rest)
      view.version = reader.varint() ?? 0
      view.revision = reader.string() ?? .empty
      view.results = reader.strings(3) ?? .empty
      view.plugin = reader.string() ?? .empty
      view.timer = reader.string() ?? .empty
      view.plugins = reader.string()
    }
    guard let subject = ParsedKey.subject(ofRecord: writes.recordKey) else { return nil }
    view.subject = subject
    view.states = .record(writes.record)
    return view
  }
}
