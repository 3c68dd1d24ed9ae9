import RuledEngine
import RuledJournal

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
      let (plugin, name) = (String(decoding: timer.plugin, as: UTF8.self), String(decoding: timer.name, as: UTF8.self))
      return made.with(sequence: sequence, origin: .timer, plugin: plugin, timer: name)
    case .recorded(let entry):
      let isNamed = entry.origin == .timer || entry.origin == .retry
      return made.with(
        sequence: sequence, at: entry.at, origin: entry.origin, plugin: isNamed ? entry.plugin : nil,
        timer: isNamed ? entry.timer : nil, redacted: entry.redacted)
    }
  }
}
