import RuledCore
package import RuledJournal
import RuledStore

/// Keeps the last event as a journal entry; a replay compares it with the recorded one.
package final class EventRecorder {
  /// The last event that took effect; nil if none did since it was taken.
  ///
  /// Its `sequence`, `at` and `origin` are for the replay to set; the origin says only whether a part was retried.
  private var last: JournalEntry?
  /// The rules that ran on that event, in order; empty unless costs are recorded.
  package private(set) var costs: [RuleCost] = []

  package private(set) var counts: [Count] = []
  /// The counts of the event that is being committed.
  private var counting: [Count] = []

  /// The amount that an event adds to a counter of a plugin.
  package struct Count: Sendable {
    package let plugin: String
    package let key: CounterKey
    package let amount: CounterValue
  }

  /// How events are explained, even if they do not ask for it.
  package enum Explanation: Sendable {
    case none
    /// With the values that rules read.
    case whole
    /// Without them.
    case withoutValues
  }

  package var explanation = Explanation.none
  /// The trace of the last event that was explained, the elements of a JSON array.
  package private(set) var trace: [UInt8] = []

  /// The cost of one run of a rule.
  package struct RuleCost: Sendable, Equatable {
    package let plugin: String
    package let rule: String
    /// How many of Lua's instructions it took; nil where they were not counted.
    package let instructions: Int?
  }

  package init() {}

  /// Takes the last event; nil if none took effect.
  package func take() -> JournalEntry? {
    defer { last = nil }
    return last
  }

  func beginCommit() { counting.removeAll(keepingCapacity: true) }

  func note(_ counts: CounterReservation, of plugin: String) {
    counts.forEach { counting.append(Count(plugin: plugin, key: $0.key, amount: $0.amount)) }
  }

  /// Notes an event whose commit has joined the batch.
  func note(_ outcome: RememberedOutcome, of transaction: EventTransaction) {
    let event = transaction.event
    let retried = transaction.retriedPlugin
    var digests: [JournalEntry.Digest] = []
    if let record = try? SubjectRecordView(transaction.nextRecord.bytes) {
      record.forEachPlugin { name, state in
        digests.append(.init(plugin: name.text, state: hash64(state.bytes, seed: 0)))
      }
    }
    noteCosts(of: transaction)
    swap(&counts, &counting)
    trace = explanation == .none ? [] : Array(transaction.trace.bytes)
    last = JournalEntry(
      sequence: 0, at: Timestamp(microseconds: event.now), now: Timestamp(microseconds: event.now),
      subject: event.subject.text, version: outcome.version, revision: outcome.revision.text,
      origin: retried == nil ? .client : .retry,
      event: Array(event.text), plugin: retried.map { transaction.plugins.all[$0].loaded.name } ?? "",
      decisions: Array(outcome.decisions), effects: Array(outcome.effects), failures: Array(outcome.failures),
      digests: digests, consequences: UInt32(truncatingIfNeeded: transaction.consequences))
  }

  private func noteCosts(of transaction: EventTransaction) {
    costs.removeAll(keepingCapacity: true)
    guard transaction.plugins.costMask != nil else { return }
    transaction.forEachTouched { run in
      let plugin = run.loaded
      if run.began, let vm = run.plugin.vm {
        for cost in vm.costs {
          costs.append(
            RuleCost(plugin: plugin.name, rule: plugin.manifest.rules[cost.rule].name, instructions: cost.instructions))
        }
      } else if let rule = run.failure?.rule {
        costs.append(RuleCost(plugin: plugin.name, rule: rule, instructions: nil))
      }
    }
  }
}
