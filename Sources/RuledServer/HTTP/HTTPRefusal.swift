import RuledCore

/// Why a request gets no further than the server.
struct HTTPRefusal: Error {
  /// What it is answered with.
  var response: HTTPResponse

  /// A refusal with an error object, under the status that says the same unless another is given.
  init(_ error: RequestError, status: Int? = nil) { response = HTTPResponse(error, status: status) }
}
