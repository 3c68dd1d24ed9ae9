package import RuledCore
import RuledJSON

/// One JSON-RPC message of a line or of a batch.
package enum RequestMessage {
  /// A request or a notification.
  case request(RequestView)
  /// No request; the answer has the error and the id's text as sent, or `null` if the id is nil.
  case invalid(id: ByteView?, RequestError)

  init(_ value: TapeValue, text: ByteView) {
    guard value.isKind(.object) else {
      self = .invalid(id: nil, Self.error("A request is an object."))
      return
    }
    var members = RequestMembers()
    var cursor = MemberCursor(value, text: text)
    while let member = cursor.next() { members.set(member) }
    self = members.message
  }

  /// `invalid_request` with a sentence.
  static func error(_ message: String) -> RequestError { RequestError(.invalidRequest, message) }
}
