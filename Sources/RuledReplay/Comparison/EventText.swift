import RuledCore
import RuledJournal

/// Reads members of an event that a journal entry holds, without parsing all of it.
package enum EventText {
  /// The id; empty when the event has none.
  package static func id(_ event: [UInt8]) -> String { event.withView { text($0.rawMember("id")) } }

  /// The type; empty when the event has none.
  package static func type(_ event: [UInt8]) -> String { event.withView { text($0.rawMember("type")) } }

  private static func text(_ value: ByteView) -> String {
    guard let value = try? JSONValue(parsing: value) else { return "" }
    return value.stringValue ?? value.text
  }
}
