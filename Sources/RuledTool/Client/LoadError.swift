package import RuledCore

/// What keeps rules or configuration from loading, and where.
package struct LoadError: Sendable {
  /// `file:line: message`, as compilers write it.
  package var line: String

  /// Reads `{file, line, message}`.
  package init(_ json: JSONValue) {
    let message = json.member("message")?.stringValue ?? json.brief
    line = message.after(place: Place(json))
  }
}
