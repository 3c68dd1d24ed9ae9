package import RuledCore

extension RequestError {
  var httpStatus: Int { code.httpStatus }

  /// The value of the header `Retry-After` in seconds, rounded up; nil for an error that does not ask to send again.
  package var retryAfter: Int? {
    guard code == .overloaded else { return nil }
    let milliseconds = details.first { $0.name == "retry_after_ms" }?.value.intValue ?? 1000
    return max(1, Int(milliseconds + 999) / 1000)
  }
}

extension RequestError.Code {
  package var httpStatus: Int {
    switch self {
    case .parseError, .invalidRequest, .invalidParams: 400
    case .forbidden: 403
    case .unknownMethod, .notFound: 404
    case .tooLarge: 413
    case .reloadFailed: 422
    case .overloaded: 429
    case .ruleFailed: 500
    case .unavailable, .outcomeUnknown: 503
    }
  }

  /// The code with a JSON-RPC number; nil for a number that no code has.
  init?(number: Int) {
    guard let code = Self.allCases.first(where: { $0.number == number }) else { return nil }
    self = code
  }
}
