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
