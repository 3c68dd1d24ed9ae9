/// Why a plugin failed on an event, a query or a request: a member of `failures`, and the data of `rule_failed`.
package struct Failure: Error, Sendable, Equatable {
  /// What went wrong, as clients switch on it.
  package enum Kind: String, Sendable, CaseIterable {
    /// Lua raised an error.
    case error
    /// The budget of instructions ran out.
    case instructions
    /// The budget of memory ran out.
    case memory
    /// The processor time ran out.
    case time
    /// The state holds a value that can't be stored.
    case state
    /// A value given to `decide`, `emit`, `raise`, `send`, `timer.set` or `count` can't be stored.
    case value
    /// Events raised each other, or messages went on, beyond the limit.
    case cycle

    /// Whether a budget stopped the plugin: after several such stops running the subject is put off.
    package var isStop: Bool { self == .instructions || self == .memory || self == .time }
  }

  package var plugin: String
  /// The rule, query or handler in it, or nil when none was running.
  package var rule: String?
  package var kind: Kind
  /// What went wrong, in words for the author of the rule.
  package var message: String
  /// The file, relative to the rules folder, or nil when it isn't known.
  package var file: String?
  /// The line, or nil when it isn't known.
  package var line: Int?

  /// A failure and its place.
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

  /// The failure as an object with the members `plugin`, `rule`, `kind`, `message`, `file` and `line`; what isn't known is null.
  package var json: JSONValue {
    [
      "plugin": .string(plugin), "rule": rule.map(JSONValue.string) ?? .null, "kind": .string(kind.rawValue),
      "message": .string(message), "file": file.map(JSONValue.string) ?? .null,
      "line": line.map { .integer(Int64($0)) } ?? .null,
    ]
  }

  /// The failure that an object like `json` states, or nil if it states none.
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
    let members = json.objectValue ?? [:]
    return RequestError(
      .ruleFailed, message, details: members.map { RequestError.Detail($0.name, $0.value) })
  }
}

/// Why a request was not carried out: the error object of JSON-RPC, with the stable string code that clients switch on.
package struct RequestError: Error, Sendable, Equatable {
  /// The stable names, each with its JSON-RPC number.
  package enum Code: String, Sendable, CaseIterable {
    case parseError = "parse_error"
    case invalidRequest = "invalid_request"
    case unknownMethod = "unknown_method"
    case invalidParams = "invalid_params"
    case ruleFailed = "rule_failed"
    case tooLarge = "too_large"
    case notFound = "not_found"
    case forbidden
    case unavailable
    case overloaded
    case reloadFailed = "reload_failed"
    case outcomeUnknown = "outcome_unknown"

    /// The number that JSON-RPC 2.0 or this daemon gives the code.
    package var number: Int {
      switch self {
      case .parseError: -32700
      case .invalidRequest: -32600
      case .unknownMethod: -32601
      case .invalidParams: -32602
      case .ruleFailed: -32000
      case .tooLarge: -32001
      case .notFound: -32002
      case .forbidden: -32003
      case .unavailable: -32004
      case .overloaded: -32005
      case .reloadFailed: -32006
      case .outcomeUnknown: -32007
      }
    }
  }

  package var code: Code
  /// What happened and what to do about it, in one sentence.
  package var message: String
  /// Further members of the error's `data`.
  package var details: [Detail]

  /// One member of `data` beside `code`.
  package struct Detail: Sendable, Equatable {
    package var name: String
    package var value: JSONValue

    /// A member with its value.
    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// An error with its code, a sentence and further members of `data`.
  package init(_ code: Code, _ message: String, details: [Detail] = []) {
    self.code = code
    self.message = message
    self.details = details
  }

  /// `invalid_params`, naming the offending member as in `params.data.items[3].x` and what is wrong with it.
  package static func invalidParams(path: String, _ detail: String) -> RequestError {
    RequestError(
      .invalidParams, "\(path): \(detail)",
      details: [Detail("path", .string(path)), Detail("detail", .string(detail))])
  }
}
