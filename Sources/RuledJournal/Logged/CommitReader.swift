import RuledCore
import RuledStore

/// Reads the entries in the commits of the log.
///
/// In a commit, the head of an event's entry follows the event's writes: the outcome, if a client sent the event, and the subject's
/// record. The commit also has the sequence of its last change, so its entries are numbered backwards from there.
struct CommitReader {
  private var found: [JournaledWrites] = []
  private let sequenceKey = StoredValue.sequence.key

  /// Calls `body` with each entry of a commit, in ascending order; a silent one gets the sequence of the entry before it.
  mutating func read(_ commit: LoggedCommit, after last: UInt64, _ body: (EntryView) -> Void) {
    let end = sequenceKey.withView { commit.findJournaled(&found, sequence: $0) }
    var numbered: UInt64 = 0
    for writes in found where !EntryHead.isSilent(writes.head) { numbered += 1 }
    var sequence = (end ?? last + numbered) - numbered
    for writes in found {
      if !EntryHead.isSilent(writes.head) { sequence += 1 }
      guard let head = EntryHead(writes.head), let view = Self.view(of: head, writes, sequence) else {
        continue
      }
      body(view)
    }
  }

  /// The entry of a head and the writes before it; nil if they do not belong together.
  private static func view(of head: EntryHead, _ writes: JournaledWrites, _ sequence: UInt64) -> EntryView? {
    var view = EntryView(
      sequence: sequence, origin: head.origin, flags: head.flags, at: head.at, now: head.now, text: writes.text,
      consequences: head.consequences)
    switch head.origin {
    case .forget:
      view.subject = writes.text
      view.text = .empty
      return view
    case .rules:
      var reader = BlockReader(head.rest)
      view.revision = reader.string() ?? .empty
      return view
    case .client:
      guard let outcome = try? RememberedOutcome(writes.outcome) else { return nil }
      view.version = outcome.version
      view.revision = outcome.revision
      view.results = outcome.results
      if head.flags.contains(.lacksID) {
        view.id = outcome.id
        if case .outcome(_, _, .plain(_, let id))? = try? ParsedKey(writes.outcomeKey) { view.id = id }
      }
      var reader = BlockReader(head.rest)
      view.plugins = reader.string()
    case .message, .timer, .retry, .kept:
      var reader = BlockReader(head.rest)
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
