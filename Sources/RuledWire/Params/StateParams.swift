package import RuledCore

/// What `state` takes.
package struct StateParams: Sendable, Equatable {
  /// Whose state.
  package let subject: String
  /// The plugin whose state alone is wanted, or nil for all.
  package let plugin: String?

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = String(decoding: try reader.requiredSubject(), as: UTF8.self)
    plugin = try reader.string("plugin")
  }
}
