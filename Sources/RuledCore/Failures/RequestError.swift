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
  /// The problem and its remedy, in one sentence.
  package var message: String
  /// Further members of the error's `data`.
  package var details: JSONObject

  package init(_ code: Code, _ message: String, details: JSONObject = [:]) {
    self.code = code
    self.message = message
    self.details = details
  }

  package init(_ code: Code, _ message: String, retryAfter milliseconds: Int64) {
    self.init(code, message, details: ["retry_after_ms": .integer(milliseconds)])
  }

  /// `invalid_params`, naming the offending member as in `params.data.items[3].x` and the problem with it.
  package static func invalidParams(path: String, _ detail: String) -> RequestError {
    RequestError(
      .invalidParams, "\(path): \(detail)", details: ["path": .string(path), "detail": .string(detail)])
  }
}
