/// Why a plugin failed on an event, a query or a request: a member of `failures`, and the data of `rule_failed`.
package struct Failure: Error, Sendable, Hashable {
  /// The kind of failure, on which clients switch.
  package enum Kind: String, Sendable, CaseIterable {
    /// Lua raised an error.
    case error
    case instructions
    case memory
    /// The processor time ran out.
    case time
    /// The state holds a value that can't be stored.
    case state
    /// A value given to `decide`, `emit`, `raise`, `send`, `timer.set` or `count` can't be stored.
    case value
    /// Events raised each other, or messages went on, beyond the limit.
    case cycle
    /// A step could not bring the state to the version that the plugin declares.
    case migration

    /// Whether a budget stopped the plugin: after several such stops running the subject is put off.
    package var isStop: Bool { self == .instructions || self == .memory || self == .time }
  }

  package var plugin: String
  /// The rule, query or handler in it, or nil when none was running.
  package var rule: String?
  package var kind: Kind
  /// The cause, in words for the author of the rule.
  package var message: String
  /// The file, relative to the rules folder, or nil when it isn't known.
  package var file: String?
  package var line: Int?

  package init(
    plugin: String, rule: String? = nil, kind: Kind, message: String, file: String? = nil, line: Int? = nil
  ) {
    self.plugin = plugin
    self.rule = rule
    self.kind = kind
    self.message = message
    self.file = file
    self.line = line
  }

  /// The failure as an object with the members `plugin`, `rule`, `kind`, `message`, `file` and `line`; unknown ones are null.
  package var json: JSONValue {
    [
      "plugin": .string(plugin), "rule": rule.map(JSONValue.string) ?? .null, "kind": .string(kind.rawValue),
      "message": .string(message), "file": file.map(JSONValue.string) ?? .null,
      "line": line.map { .integer(Int64($0)) } ?? .null,
    ]
  }

  package init?(json: JSONValue) {
    guard let plugin = json["plugin"]?.stringValue, let message = json["message"]?.stringValue,
      let kind = json["kind"]?.stringValue.flatMap(Kind.init)
    else { return nil }
    self.init(
      plugin: plugin, rule: json["rule"]?.stringValue, kind: kind, message: message,
      file: json["file"]?.stringValue, line: json["line"]?.intValue.map { Int($0) })
  }

  /// The error that answers a query whose rule failed: `rule_failed` with the failure's members in its data.
  package var requestError: RequestError {
    RequestError(.ruleFailed, message, details: json.objectValue ?? [:])
  }
}
