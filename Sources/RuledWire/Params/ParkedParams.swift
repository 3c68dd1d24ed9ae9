package import RuledCore

/// What `parked` takes.
package struct ParkedParams: Sendable, Equatable {
  /// The plugin whose parked events are wanted, or nil for all.
  package let plugin: String?
  /// The parked event after which the list goes on, or nil to begin.
  package let after: String?
  /// The longest list wanted.
  package let limit: Int

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    plugin = try reader.string("plugin")
    after = try reader.string("after")
    limit = try reader.limit()
  }
}
