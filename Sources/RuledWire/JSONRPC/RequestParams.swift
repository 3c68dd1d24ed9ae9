package import RuledCore
package import RuledJSON

// The params of the methods. Each initializer reads the params of a request, or throws `invalid_params` with the path of the wrong member.

/// The params of `query`; everything in it is valid until the document parses again.
package struct QueryParams {
  /// The subject whose state the query sees, or nil for a query that needs none.
  package let subject: ByteView?
  /// The plugin: the part before the name's first dot.
  package let plugin: ByteView
  /// The query in the plugin; empty if the name has no dot, which no query matches.
  package let query: ByteView
  /// The arguments, or nil if absent or null.
  package let args: TapeValue?
  /// The text of the arguments as sent; empty if there are none.
  let argsText: ByteView

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = try reader.subject()
    guard let value = reader.value("name") else { throw reader.error("name", "is required") }
    guard let name = value.string else { throw reader.error("name", "must be a string") }
    let dot = name.firstIndex(of: UInt8(ascii: ".")) ?? name.endIndex
    plugin = name.extracting(..<dot)
    query = name.extracting(droppingFirst: dot + 1)
    args = reader.value("args")
    argsText = args == nil ? ByteView.empty : request.paramsText.rawMember("args")
  }
}

package struct StateParams: Sendable, Equatable {
  package let subject: String
  /// The plugin whose state alone is wanted, or nil for all.
  package let plugin: String?

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = try reader.requiredSubjectText()
    plugin = try reader.string("plugin")
  }
}

/// The params of `export`, `forget` and `cluster_where`.
package struct SubjectParams: Sendable, Equatable {
  package let subject: String

  package init(_ request: RequestView) throws(RequestError) {
    subject = try ParamsReader(request).requiredSubjectText()
  }
}

/// The params of `subjects` and `topics`.
package struct SubjectsParams: Sendable, Equatable {
  /// The beginning of the names; empty for all.
  package let prefix: String
  /// The name after which the list begins, or nil for the first.
  package let after: String?
  package let limit: Int

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    prefix = try reader.string("prefix") ?? ""
    after = try reader.string("after")
    limit = try reader.limit()
  }
}

/// The params of `watch`: a selection of changes.
package struct WatchParams: Sendable, Equatable {
  /// The one subject to watch, or nil for all.
  package let subject: String?
  /// The beginning of the names of subjects to watch; empty for all.
  package let prefix: String
  /// The plugins whose changes are wanted, or nil for all.
  package let plugins: [String]?
  /// The sequence after which the changes begin, or nil for the changes from now on.
  package let after: Int64?

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = try reader.subjectText()
    prefix = try reader.string("prefix") ?? ""
    plugins = try reader.strings("plugins")
    after = try reader.integer("after", in: 0...Int64.max)
  }
}

package struct UnwatchParams: Sendable, Equatable {
  /// The watch that `watch` answered with.
  package let watch: Int64

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    guard let number = try reader.integer("watch", in: 0...Int64.max) else {
      throw reader.error("watch", "is required")
    }
    watch = number
  }
}

/// The params of `dashboard`: the role of the session that the token is for.
package struct DashboardParams: Sendable, Equatable {
  package let role: Role

  package init(_ request: RequestView) throws(RequestError) {
    let form = "\"reader\", \"writer\" or \"admin\""
    role = try ParamsReader(request).parsed("role", form) { Role(rawValue: $0) } ?? .admin
  }
}

/// The params of `cluster`, `cluster_drain` and `cluster_undrain`.
package enum ClusterParams: Sendable, Equatable {
  case show
  /// Have a node give the log up; with `force` also if no other one follows closely.
  case drain(node: String, force: Bool)
  /// Let a node own the log again.
  case undrain(node: String)

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    switch request.method {
    case .clusterDrain: self = .drain(node: try reader.required("node"), force: try reader.boolean("force") ?? false)
    case .clusterUndrain: self = .undrain(node: try reader.required("node"))
    default: self = .show
    }
  }
}

/// The params of `rules`, `health` and `samples`: an object; its members are ignored.
package struct EmptyParams: Sendable, Equatable {
  package init(_ request: RequestView) throws(RequestError) { _ = try ParamsReader(request) }
}
