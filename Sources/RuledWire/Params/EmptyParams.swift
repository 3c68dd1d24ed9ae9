package import RuledCore

/// What `rules`, `reload` and `health` take: an object, whatever it holds.
package struct EmptyParams: Sendable, Equatable {
  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) { _ = try ParamsReader(request) }
}
