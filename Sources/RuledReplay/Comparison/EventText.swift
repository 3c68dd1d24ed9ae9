import RuledCore
import RuledJSON

/// Reads the id of an event that a journal entry holds.
package enum EventID {
  /// The id; empty when the event has none.
  package static func read(_ event: [UInt8]) -> String {
    event.withUnsafeBytes { bytes in
      guard let id = try? JSONValue(parsing: bytes.rawMember("id")) else { return "" }
      return id.stringValue ?? id.text
    }
  }
}
