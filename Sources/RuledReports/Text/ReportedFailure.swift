package import RuledCore

package struct ReportedFailure: Sendable {
  var plugin: String
  /// The rule, query or handler that failed; empty when none is named.
  package var rule: String
  var kind: String
  /// The cause, with file and line.
  var message: String

  /// Reads `{plugin, rule, kind, message, file, line}`.
  package init(_ json: JSONValue) {
    plugin = json.member("plugin")?.stringValue ?? "?"
    rule = json.member("rule")?.stringValue ?? ""
    kind = json.member("kind")?.stringValue ?? "error"
    message = json.locatedMessage
  }

  /// Plugin, rule, message and kind in one line.
  package var line: String { line(of: "rule") }

  /// The same for a `part` other than a rule, such as a query.
  package func line(of part: String) -> String {
    "\(plugin)\(rule.isEmpty ? "" : ", \(part) '\(rule)'"): \(messageAndKind)"
  }

  package var messageAndKind: String { "\(message) (\(kind))" }
}

extension JSONValue {
  /// The member `message` of a failure or a load error, after its `file` and `line` as compilers write them.
  package var locatedMessage: String {
    let message = member("message")?.stringValue ?? brief
    guard let file = member("file")?.stringValue, !file.isEmpty else { return message }
    // Line 0 is the file as a whole.
    let location = member("line")?.intValue.flatMap { $0 > 0 ? "\(file):\($0)" : nil } ?? file
    return message.contains(location) ? message : "\(location): \(message)"
  }
}
