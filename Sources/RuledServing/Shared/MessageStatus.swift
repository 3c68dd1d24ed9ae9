import RuledCore

struct MessageStatus {
  /// The number of committed messages that are not applied yet.
  let waiting: Int
  /// The plugins with many waiting messages, or with cascades that came to a limit lately.
  let storming: [String]
  /// The number of subjects whose messages wait, as one could not be applied.
  let delayedSubjects: Int
  let areReadable: Bool
  /// The number of unreadable messages parked since the start.
  let damaged: Int

  /// The problems, one sentence each.
  var problems: [String] {
    var found = storming.map { "the plugin \($0) storms: its messages cause ever more, or more than can be applied" }
    if delayedSubjects > 0 {
      found.append("messages of \(delayedSubjects) subjects can't be applied, as the log says; they are tried again")
    }
    if !areReadable { found.append("messages can't be read from the store, as the log says; that is tried again") }
    if damaged > 0 {
      found.append("\(damaged) messages were damaged and are kept among the parked events, without a plugin")
    }
    return found
  }

  /// The member `messages` of `health`.
  var json: JSONValue {
    .object([
      "waiting": .integer(Int64(waiting)), "storming": .array(storming.map { .string($0) }),
      "held_subjects": .integer(Int64(delayedSubjects)), "damaged": .integer(Int64(damaged)),
    ])
  }
}
