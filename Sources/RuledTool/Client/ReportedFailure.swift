package import RuledCore

/// A plugin's failure on an event.
package struct ReportedFailure: Sendable {
  /// The plugin that failed.
  package var plugin: String
  /// The rule that failed, if one is named.
  package var rule: String
  /// The kind, such as `instructions`.
  package var kind: String
  /// What happened.
  package var message: String
  /// Where it happened.
  package var place: Place

  /// Reads `{plugin, rule, kind, message, file, line}`.
  package init(_ json: JSONValue) {
    plugin = json.member("plugin")?.stringValue ?? "?"
    rule = json.member("rule")?.stringValue ?? ""
    kind = json.member("kind")?.stringValue ?? "error"
    message = json.member("message")?.stringValue ?? json.brief
    place = Place(json)
  }

  /// All of it in one line.
  package var line: String {
    "\(plugin)\(rule.isEmpty ? "" : ", rule '\(rule)'"): \(message.after(place: place)) (\(kind))"
  }
}
