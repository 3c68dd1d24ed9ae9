package import RuledCore

extension JSONValue {
  /// The value that `text` holds, or nil when it is not JSON.
  ///
  /// What a daemon answers wraps what it was sent, so more depth is allowed than in a request.
  package init?(text: String) {
    guard let value = try? JSONValue(parsing: text, maximumDepth: 4 * Limits.jsonDepth) else { return nil }
    self = value
  }

  /// An object of these members, in order; a member that is nil is left out.
  package static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
    var object = JSONObject()
    for (name, value) in members {
      if let value { object[name] = value }
    }
    return .object(object)
  }

  /// The object's member, if this is an object that has it and it is not null.
  package func member(_ name: String) -> JSONValue? {
    guard let value = self[name], !value.isNull else { return nil }
    return value
  }

  /// A string as it is, anything else as JSON on one line.
  package var brief: String { stringValue ?? text }
}
