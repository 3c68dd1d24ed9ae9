import RuledCore
package import RuledJournal
import RuledStore

/// Keeps what the last event did, as a journal entry: for replays, which compare it with what was recorded.
package final class EventRecorder {
  /// What the last event did that took effect; nil if none did since it was taken.
  ///
  /// Its `sequence`, `at` and `origin` are for the replay to set; the origin says only whether a part was retried.
  private var last: JournalEntry?

  /// A recorder of nothing yet.
  package init() {}

  /// Takes what the last event did; nil if none took effect.
  package func take() -> JournalEntry? {
    defer { last = nil }
    return last
  }

  /// Notes an event whose commit has joined the batch.
  func note(_ outcome: RememberedOutcome, of transaction: EventTransaction) {
    let event = transaction.event
    let retried = transaction.retriedPlugin
    var digests: [JournalEntry.Digest] = []
    if let record = try? SubjectRecordView(transaction.nextRecord.bytes) {
      record.forEachPlugin { name, state in
        digests.append(.init(plugin: String(decoding: name, as: UTF8.self), state: hash64(state, seed: 0)))
      }
    }
    last = JournalEntry(
      sequence: 0, at: Timestamp(microseconds: event.now), now: Timestamp(microseconds: event.now),
      subject: String(decoding: event.subject, as: UTF8.self), version: outcome.version,
      revision: String(decoding: outcome.revision, as: UTF8.self), origin: retried == nil ? .client : .retry,
      event: Array(event.text), plugin: retried.map { transaction.plugins.all[$0].entry.name } ?? "",
      decisions: Array(outcome.decisions), effects: Array(outcome.effects), failures: Array(outcome.failures),
      digests: digests, consequences: UInt32(truncatingIfNeeded: transaction.consequences))
  }
}
