internal import RuledCore
internal import RuledEngine
internal import RuledReports

struct DaemonError: Error, Sendable {
  /// The stable name, such as `not_found`.
  var code: String
  var message: String
  var json: JSONValue
  /// The method that was called; nil if that is not known.
  var method: String?

  init(_ json: JSONValue) {
    message = json.member("message")?.stringValue ?? "the daemon gave no reason"
    code = json.member("data")?.member("code")?.stringValue ?? "error \(json.count("code"))"
    self.json = json
  }

  /// An error that was found without asking the daemon.
  init(code: RequestError.Code, _ message: String) {
    self.init([
      "code": .integer(Int64(code.number)), "message": .string(message), "data": ["code": .string(code.rawValue)],
    ])
  }

  /// The same error as the answer to a call of `method`.
  func answering(_ method: String) -> DaemonError {
    var error = self
    error.method = method
    return error
  }

  var exit: ExitCode { ["not_found", "reload_failed"].contains(code) ? .no : .failed }

  /// The problem and the remedy: one line, and one more for each problem of rules that do not load.
  var lines: [String] {
    let data = json.member("data")
    switch code {
    case "invalid_params":
      guard let path = data?.member("path")?.stringValue, !message.contains(path) else { return [message] }
      return ["\(path): \(data?.member("detail")?.stringValue ?? message)"]
    case "rule_failed":
      return [data.map { ReportedFailure($0).line(of: method == "query" ? "query" : "rule") } ?? message]
    case "forbidden":
      if data?.member("detail")?.stringValue == "made by rules only" { return ["\(message): add --internal"] }
      return ["\(message); call as root or as one of the daemon's 'admins'"]
    case "unavailable":
      let needsAdvice = method == "event" && !message.contains("again") && !message.contains("nothing was applied")
      return [needsAdvice ? "\(message); nothing was applied, so send it again" : message]
    case "overloaded":
      guard let wait = data?.member("retry_after_ms")?.intValue else { return [message] }
      return ["\(message); try again in \(wait) ms"]
    case "reload_failed":
      let problems = data?.member("errors")?.arrayValue ?? []
      let reasons = problems.map(\.locatedMessage)
      guard reasons.count == 1, message.hasSuffix(reasons[0]) else { return [message] + reasons }
      // without a file, the rules have no mistake: a rollout runs, say, so that they are not read
      return problems[0].member("file")?.stringValue == "" ? reasons : [message]
    default:
      return [message]
    }
  }
}

/// The output of a program that ends with an error, a line for each problem, and its exit code.
struct ErrorReport {
  let lines: [String]
  let exit: ExitCode

  init(_ error: any Error) {
    (lines, exit) =
      switch error {
      case let error as UsageError: ([error.message], .failed)
      case let error as ToolError: ([error.message], error.exit)
      case let error as DaemonError: (error.lines, error.exit)
      case let error as RequestError: ([error.message], .failed)
      case let error as ReloadError: (error.errors.map(\.description), .failed)
      default: (["\(error)"], .failed)
      }
  }
}
