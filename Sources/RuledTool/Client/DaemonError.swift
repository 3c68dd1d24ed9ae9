package import RuledCore

/// The error object that a daemon answered with.
package struct DaemonError: Error, Sendable {
  /// JSON-RPC's number.
  package var number: Int64
  /// The stable name, such as `not_found`.
  package var code: String
  /// The daemon's message.
  package var message: String
  /// The whole error object.
  package var json: JSONValue

  /// Reads an error object.
  package init(_ json: JSONValue) {
    number = json.member("code")?.intValue ?? 0
    message = json.member("message")?.stringValue ?? "the daemon gave no reason"
    code = json.member("data")?.member("code")?.stringValue ?? "error \(number)"
    self.json = json
  }

  /// An error that was found before the daemon was asked.
  package init(code: RequestError.Code, _ message: String) {
    self.init([
      "code": .integer(Int64(code.number)), "message": .string(message), "data": ["code": .string(code.rawValue)],
    ])
  }

  /// The exit code of a program that ends with this error.
  package var exit: ExitCode {
    switch code {
    case "not_found", "reload_failed": .no
    default: .failed
    }
  }

  /// What is wrong and what to do about it: one line, and one more for each problem of rules that do not load.
  package var lines: [String] {
    let data = json.member("data")
    switch code {
    case "invalid_params":
      guard let path = data?.member("path")?.stringValue, !message.contains(path) else { return [message] }
      return ["\(path): \(data?.member("detail")?.stringValue ?? message)"]
    case "rule_failed":
      return [data.map { ReportedFailure($0).line } ?? message]
    case "forbidden":
      return ["\(message); call as root or as one of the daemon's 'admins'"]
    case "unavailable":
      return ["\(message); nothing was applied, so send it again"]
    case "overloaded":
      guard let wait = data?.member("retry_after_ms")?.intValue else { return [message] }
      return ["\(message); try again in \(wait) ms"]
    case "reload_failed":
      return [message] + (data?.member("errors")?.arrayValue ?? []).map(\.locatedMessage)
    default:
      return [message]
    }
  }
}

/// A plugin's failure on an event.
package struct ReportedFailure: Sendable {
  /// The plugin that failed.
  package var plugin: String
  /// The rule that failed; empty when none is named.
  package var rule: String
  /// The kind, such as `instructions`.
  package var kind: String
  /// What happened, with file and line.
  package var message: String

  /// Reads `{plugin, rule, kind, message, file, line}`.
  package init(_ json: JSONValue) {
    plugin = json.member("plugin")?.stringValue ?? "?"
    rule = json.member("rule")?.stringValue ?? ""
    kind = json.member("kind")?.stringValue ?? "error"
    message = json.locatedMessage
  }

  /// Plugin, rule, message and kind in one line.
  package var line: String { "\(plugin)\(rule.isEmpty ? "" : ", rule '\(rule)'"): \(messageAndKind)" }

  /// Message and kind in one line.
  package var messageAndKind: String { "\(message) (\(kind))" }
}

extension JSONValue {
  /// The member `message` of a failure or a load error, after its `file` and `line` as compilers write them.
  var locatedMessage: String {
    let message = member("message")?.stringValue ?? brief
    guard let file = member("file")?.stringValue, !file.isEmpty else { return message }
    let location = member("line")?.intValue.map { "\(file):\($0)" } ?? file
    return message.contains(location) ? message : "\(location): \(message)"
  }
}
