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
  /// The topics that it published to, once for each publication.
  var publications: [QualifiedName] = []
  /// The digest of the topics that it joined and left; 0 if there are none.
  var memberships: UInt64 = 0

  package typealias RuleCost = EventRecorder.RuleCost

  package init(entry: JournalEntry, isRecorded: Bool, rules: [RuleCost] = [], counts: [EventRecorder.Count] = []) {
    self.entry = entry
    self.isRecorded = isRecorded
    self.rules = rules
    self.counts = counts
  }
}

extension JournalEntry {
  /// Whether it is an event that rules could see: no erasure, nothing that outlived one, and no change of rules.
  package var isEvent: Bool { ![.forget, .kept, .rules].contains(origin) }

  /// The event's id; empty when it has none.
  package var eventID: String { member("id") }

  /// The event's type; empty when it has none.
  package var eventType: String { member("type") }

  /// A member of the event, without parsing all of it.
  private func member(_ name: StaticString) -> String {
    let value = event.withView { event in try? JSONValue(parsing: event.rawMember(name)) }
    return value.map { $0.stringValue ?? $0.text } ?? ""
  }

  /// The outcome of the event: `{decisions, effects, failures}`.
  var outcome: JSONObject {
    ["decisions": Self.json("{", decisions, "}"), "effects": Self.list(effects), "failures": Self.list(failures)]
  }

  /// The elements of a JSON array, as an array.
  static func list(_ elements: [UInt8]) -> JSONValue { json("[", elements, "]") }

  private static func json(_ opening: String, _ contents: [UInt8], _ closing: String) -> JSONValue {
    (try? JSONValue(parsing: opening + contents.text + closing)) ?? .null
  }
}

enum PlayedCause {
  case recorded(JournalEntry)
  /// It is a message that only this world has.
  case ownMessage
  /// It is a timer that only this world has.
  case ownTimer(DueTimer)

  /// The entry of an event, with this cause and the sequence of the recorded entry with which it happened.
  func entry(of made: JournalEntry, sequence: UInt64) -> JournalEntry {
    switch self {
    case .ownMessage: return made.with(sequence: sequence, origin: .message)
    case .ownTimer(let timer):
      let (plugin, name) = (timer.plugin.text, timer.name.text)
      return made.with(sequence: sequence, origin: .timer, plugin: plugin, timer: name)
    case .recorded(let entry):
      let isNamed = entry.origin == .timer || entry.origin == .retry
      return made.with(
        sequence: sequence, at: entry.at, origin: entry.origin, plugin: isNamed ? entry.plugin : nil,
        timer: isNamed ? entry.timer : nil, redacted: entry.redacted)
    }
  }
}
