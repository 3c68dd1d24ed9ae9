package import RuledCore

/// A request that the server answers itself, with an error: the status, the error object and further header fields of the response.
package struct HTTPError: Error, Sendable, Equatable {
  package let status: Int
  package let error: RequestError
  /// Header fields beside those that each response has.
  package let headers: [HTTPHeaders.Field]

  package init(_ status: Int, _ message: String, _ code: RequestError.Code = .invalidRequest) {
    self.init(RequestError(code, message), status: status)
  }

  /// An error with a sentence, under the status of its code.
  package init(_ code: RequestError.Code, _ message: String) { self.init(RequestError(code, message)) }

  /// An error object, by default under the status of its code.
  package init(_ error: RequestError, status: Int? = nil, headers: [HTTPHeaders.Field] = []) {
    self.status = status ?? error.code.httpStatus
    self.error = error
    self.headers = headers
  }
}

extension RequestError {
  /// The value of the header `Retry-After` in seconds, rounded up; nil for an error that does not ask to send again.
  package var retryAfter: Int? {
    guard code == .overloaded else { return nil }
    let milliseconds = details["retry_after_ms"]?.intValue ?? 1000
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
}
