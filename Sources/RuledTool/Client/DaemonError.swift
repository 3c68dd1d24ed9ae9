package import RuledCore

/// The error object that a daemon answered with.
package struct DaemonError: Error, Sendable {
  /// JSON-RPC's number.
  package var number: Int64
  /// The stable name, such as `not_found`.
  package var code: String
  /// What the daemon says.
  package var message: String
  /// The whole error object.
  package var json: JSONValue

  /// Reads an error object.
  package init(_ json: JSONValue) {
    number = json.member("code")?.intValue ?? 0
    message = json.member("message")?.stringValue ?? "the daemon refused without a reason"
    code = json.member("data")?.member("code")?.stringValue ?? "error \(number)"
    self.json = json
  }

  /// An error that was found before the daemon was asked.
  package init(code: RequestError.Code, _ message: String) {
    self.init([
      "code": .integer(Int64(code.number)), "message": .string(message), "data": ["code": .string(code.rawValue)],
    ])
  }

  /// What a program ends with that gets this.
  package var exit: ExitCode {
    switch code {
    case "not_found", "reload_failed": .no
    default: .failed
    }
  }

  /// What is wrong and what to do about it; more than one line only for rules that do not load.
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
      return [message] + (data?.member("errors")?.arrayValue ?? []).map { LoadError($0).line }
    default:
      return [message]
    }
  }
}
