package import RuledCore

/// What `unwatch` takes.
package struct UnwatchParams: Sendable, Equatable {
  /// The watch that `watch` answered with.
  package let watch: Int64

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    guard let number = try reader.integer("watch", in: 0...Int64.max) else {
      throw reader.error("watch", "is required")
    }
    watch = number
  }
}
