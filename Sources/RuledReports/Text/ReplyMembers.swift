package import RuledCore

/// Members of a daemon's answers, of which some may be missing.
extension JSONValue {
  /// The object's member; nil when this is no object, has no such member, or the member is null.
  package func member(_ name: String) -> JSONValue? {
    guard let value = self[name], !value.isNull else { return nil }
    return value
  }

  /// The object's member as `brief` writes it, or `missing` where there is none.
  package func word(_ name: String, else missing: String = "?") -> String { member(name)?.brief ?? missing }

  /// The object's member as a count; 0 when there is none.
  package func count(_ name: String) -> Int { Int(member(name)?.intValue ?? 0) }

  /// The elements of the object's member; none when there is no such array.
  package func elements(_ name: String) -> [JSONValue] { member(name)?.arrayValue ?? [] }

  /// A string as it is, anything else as JSON on one line.
  package var brief: String { stringValue ?? text }
}

extension JSONValue {
  /// How many outcomes of a decision differ.
  package var differences: Int { count("changed") + count("new") + count("gone") }

  /// Whether a topic has other members, or was published to more or less often.
  package var isOtherTopic: Bool {
    count("changed") > 0 || self["publications"]?["before"] != self["publications"]?["after"]
  }

  /// Some of the members that a topic has on one side only, each with what happens to it.
  package var otherMembers: String {
    elements("examples").map { "\($0.word("subject").quotedName) (\($0.word("kind")))" }.joined(separator: ", ")
  }

  /// The command that explains an event which came out differently, or the side on which alone it happened.
  package var explanation: String {
    member("only").map { "in the \($0.brief) alone" } ?? word("explain", else: "")
  }

  package var isContainer: Bool { objectValue != nil || arrayValue != nil }
}
