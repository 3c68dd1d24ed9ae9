import RuledCore
import RuledStore

/// Finds the entries in the commits of the log.
///
/// A record for the journal follows the writes of its event: the outcome, if a client sent it, and the subject's record. The sequence of a batch's last change
/// is in the same commit, so its entries are numbered backwards from there.
struct CommitReader {
  private var found: [EntryView] = []
  private let sequenceKey: [UInt8] = StoreKey.bytes { StoreKey.daemon(StoreKey.sequenceName, into: $0) }

  /// Calls `body` with each entry of a commit, in ascending order; silent ones get the sequence of the entry before them.
  mutating func read(_ commit: LoggedCommit, after last: UInt64, _ body: (EntryView) -> Void) {
    found.removeAll(keepingCapacity: true)
    var end: UInt64?
    var outcome: (key: EntryView.Bytes, value: EntryView.Bytes)?
    var record: (key: EntryView.Bytes, value: EntryView.Bytes)?
    var numbered: UInt64 = 0
    commit.forEach { operation in
      switch operation {
      case .delete: break
      case .put(let key, let value):
        switch key.first {
        case StoreKey.Kind.outcome.rawValue: outcome = (key, value)
        case StoreKey.Kind.record.rawValue: record = (key, value)
        case StoreKey.Kind.daemon.rawValue:
          if value.count == 8, key.elementsEqual(sequenceKey) {
            end = UInt64(bigEndian: value.load(at: 0, as: UInt64.self))
          }
        default: break
        }
      case .journal(let head, let text):
        guard let parsed = JournalRecord(head), let view = Self.view(of: parsed, text, outcome, record) else { return }
        if !view.flags.contains(.isSilent) { numbered += 1 }
        found.append(view)
        outcome = nil
        record = nil
      }
    }
    guard !found.isEmpty else { return }
    var sequence = (end ?? last + numbered) - numbered
    for index in found.indices {
      if !found[index].flags.contains(.isSilent) { sequence += 1 }
      found[index].sequence = sequence
      body(found[index])
    }
  }

  /// The entry of a record and the writes before it; nil when they don't belong together.
  private static func view(
    of record: JournalRecord, _ text: EntryView.Bytes, _ outcome: (key: EntryView.Bytes, value: EntryView.Bytes)?,
    _ subject: (key: EntryView.Bytes, value: EntryView.Bytes)?
  ) -> EntryView? {
    var view = EntryView(record, text: text)
    switch record.origin {
    case .forget:
      view.subject = text
      view.text = EntryView.none
      return view
    case .rules:
      var reader = BlockReader(record.rest)
      view.revision = reader.string() ?? EntryView.none
      return view
    case .client:
      guard let outcome, let value = try? RememberedOutcome(outcome.value) else { return nil }
      view.set(value)
      view.id = value.id
      if case .outcome(_, _, .plain(_, let id))? = try? ParsedKey(outcome.key) { view.id = id }
    case .message, .timer, .retry:
      var reader = BlockReader(record.rest)
      view.version = reader.varint() ?? 0
      view.revision = reader.string() ?? EntryView.none
      view.decisions = reader.string() ?? EntryView.none
      view.effects = reader.string() ?? EntryView.none
      view.failures = reader.string() ?? EntryView.none
      view.plugin = reader.string() ?? EntryView.none
      view.timer = reader.string() ?? EntryView.none
    }
    guard let subject, case .record(let name)? = try? ParsedKey(subject.key) else { return nil }
    view.subject = name
    view.states = .record(subject.value)
    return view
  }
}

extension EntryView {
  /// Takes the parts of an outcome.
  fileprivate mutating func set(_ outcome: RememberedOutcome) {
    version = outcome.version
    revision = outcome.revision
    decisions = outcome.decisions
    effects = outcome.effects
    failures = outcome.failures
  }
}
