import RuledCore
import RuledJSON

/// What may follow from a message or a timer, directly or not.
struct Allowance {
  /// How many messages.
  let messages: Int
  /// How many publications.
  let publications: Int

  static let none = Allowance(messages: 0, publications: 0)

  /// Writes the members of a stored message or timer; one without the number of publications has all that may follow from an event.
  func write(to json: inout JSONWriter) {
    json.member("may_send", messages)
    if publications < Limits.publicationsPerCascade { json.member("may_publish", publications) }
  }
}
