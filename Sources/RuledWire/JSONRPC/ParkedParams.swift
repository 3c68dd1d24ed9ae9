package import RuledCore

package struct ParkedParams: Sendable, Equatable {
  /// The plugin whose parked events are wanted, or nil for all.
  package let plugin: String?
  /// The parked event after which the list begins, or nil for the first.
  package let after: String?
  package let limit: Int

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    plugin = try reader.string("plugin")
    after = try reader.string("after")
    limit = try reader.limit()
  }
}

/// The params of `retry` and `drop`: a selection of parked events.
package enum ParkedSelection: Sendable, Equatable {
  case event(id: String)
  case plugin(String)

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    switch (reader.has("parked"), reader.has("plugin")) {
    case (true, false): self = .event(id: try reader.required("parked"))
    case (false, true): self = .plugin(try reader.required("plugin"))
    case (true, true): throw reader.error("plugin", "excludes parked")
    case (false, false): throw reader.error("parked", "or params.plugin is required")
    }
  }
}
