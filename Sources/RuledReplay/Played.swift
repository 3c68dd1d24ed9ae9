import RuledCore
package import RuledEngine
package import RuledJournal

/// An event that happened in a world, with its outcome.
package struct Played: Sendable {
  /// The outcome, in the form of a journal entry; `sequence` is that of the recorded entry that it replays, or that it follows from.
  package let entry: JournalEntry
  /// Whether the record has it too; if not, it is a message or a timer that only this world has.
  package let isRecorded: Bool
  package let rules: [RuleCost]
  let counts: [EventRecorder.Count]

  package typealias RuleCost = EventRecorder.RuleCost

  package init(entry: JournalEntry, isRecorded: Bool, rules: [RuleCost] = [], counts: [EventRecorder.Count] = []) {
    self.entry = entry
    self.isRecorded = isRecorded
    self.rules = rules
    self.counts = counts
  }
}

extension JournalEntry {
  /// The outcome of the event: `{decisions, effects, failures}`.
  var outcome: JSONObject {
    ["decisions": Self.json("{", decisions, "}"), "effects": Self.list(effects), "failures": Self.list(failures)]
  }

  /// The elements of a JSON array, as an array.
  static func list(_ elements: [UInt8]) -> JSONValue { json("[", elements, "]") }

  private static func json(_ opening: String, _ contents: [UInt8], _ closing: String) -> JSONValue {
    (try? JSONValue(parsing: opening + String(decoding: contents, as: UTF8.self) + closing)) ?? .null
  }
}

extension World {
  struct Moment: Sendable {
    let sequence: UInt64
    /// When it was evaluated.
    let at: Timestamp
    /// The value of `now()`.
    let now: Timestamp

    init(_ entry: JournalEntry) { (sequence, at, now) = (entry.sequence, entry.at, entry.now) }
  }
}
