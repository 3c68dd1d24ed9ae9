import RuledCore
package import RuledEngine
package import RuledJournal

/// What an event did in a replayed world.
package struct Played: Sendable {
  /// Its outcome, in the form of a journal entry: `sequence` is that of the recorded entry that it replays, or of the one that it follows from.
  package let entry: JournalEntry
  /// Whether the recorded history has it too; otherwise it is a message or a timer of this world alone.
  package let isRecorded: Bool
  /// How many instructions each rule took that ran, by plugin and rule.
  package let rules: [RuleCost]

  /// What one rule cost.
  package typealias RuleCost = EventRecorder.RuleCost

  /// What an event did.
  package init(entry: JournalEntry, isRecorded: Bool, rules: [RuleCost] = []) {
    self.entry = entry
    self.isRecorded = isRecorded
    self.rules = rules
  }
}

/// Why something happens in a replayed world.
enum PlayedCause {
  /// It is in the record.
  case recorded(JournalEntry)
  /// A message of this world alone.
  case ownMessage
  /// A timer of this world alone.
  case ownTimer(DueTimer)

  /// The entry of what was done, under the sequence of the record at which it happened.
  func entry(of made: JournalEntry, sequence: UInt64) -> JournalEntry {
    switch self {
    case .ownMessage: return made.with(sequence: sequence, origin: .message)
    case .ownTimer(let timer):
      let (plugin, name) = (
        String(decoding: timer.plugin, as: UTF8.self), String(decoding: timer.name, as: UTF8.self)
      )
      return made.with(sequence: sequence, origin: .timer, plugin: plugin, timer: name)
    case .recorded(let entry):
      let isNamed = entry.origin == .timer || entry.origin == .retry
      return made.with(
        sequence: sequence, at: entry.at, origin: entry.origin, plugin: isNamed ? entry.plugin : nil,
        timer: isNamed ? entry.timer : nil, redacted: entry.redacted)
    }
  }
}

extension World {
  /// When an entry happened.
  struct Moment: Sendable {
    /// The entry's number.
    let sequence: UInt64
    /// When it was evaluated.
    let at: Timestamp
    /// What `now()` was.
    let now: Timestamp

    init(_ entry: JournalEntry) { (sequence, at, now) = (entry.sequence, entry.at, entry.now) }
  }
}
