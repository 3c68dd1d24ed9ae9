import RuledCore
import RuledJSON

/// The numbers of messages and publications that may follow from a message or a timer, directly or not.
struct Allowance {
  let messages: Int
  let publications: Int

  static let none = Allowance(messages: 0, publications: 0)

  /// Writes the members of a stored message or timer; a missing number of publications stands for that of a client's event.
  func write(to json: inout JSONWriter) {
    json.member("may_send", messages)
    if publications < Limits.publicationsPerCascade { json.member("may_publish", publications) }
  }
}
