package import RuledCore
import RuledJSON

/// The event of an entry with the data that a subject kept when its past was erased.
///
/// In `data_base64` are the bytes of writes: the subject's record without events, its `once` keys, timers and memberships as they are stored, its
/// places, each behind its board, and the steps back of its states. No stored message begins with that member.
package enum KeptEvent {
  package static let type: StaticString = "ruled.kept"
  private static let opening: StaticString = #"{"data_base64":""#

  /// Appends the event; `records` are the bytes of a set of writes.
  package static func write(_ records: ByteView, of subject: ByteView, into text: ByteBuffer) {
    text.append(opening)
    Base64.encode(records, to: text)
    text.append("\"," as StaticString)
    writeMembers(of: subject, into: text)
  }

  /// Appends the event as it is shown, without the bytes of writes.
  package static func writeShown(of subject: ByteView, into text: ByteBuffer) {
    text.append("{" as StaticString)
    writeMembers(of: subject, into: text)
  }

  private static func writeMembers(of subject: ByteView, into text: ByteBuffer) {
    var json = JSONWriter(text)
    json.member("type", plain: type)
    json.member("id", plain: "")
    json.member("subject", string: subject)
    json.endObject()
  }

  /// Whether an entry that seems to be a message is one.
  static func isOne(_ text: ByteView) -> Bool {
    text.extracting(first: min(text.count, opening.utf8CodeUnitCount)).elementsEqual(ByteView(opening))
  }

  /// The bytes of writes in an event; none if it is no such event.
  package static func records(in event: [UInt8]) -> [UInt8] {
    event.withView { Base64.decode($0.rawMember("data_base64").dropFirst().dropLast()) }
  }
}
