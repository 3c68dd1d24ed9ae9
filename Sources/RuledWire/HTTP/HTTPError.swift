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
    self.status = status ?? error.httpStatus
    self.error = error
    self.headers = headers
  }
}
