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
    try EventChecks.size(args, "params.args")
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

/// The params of `subjects`, `topics` and `parked`.
package struct PageParams: Sendable, Equatable {
  /// The beginning of the names; empty for all.
  package let prefix: String
  /// The plugin whose parked events are wanted, or nil for all.
  package let plugin: String?
  /// The name or the parked event after which the list begins, or nil for the first.
  package let after: String?
  package let limit: Int

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    prefix = try reader.string("prefix") ?? ""
    plugin = try reader.string("plugin")
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

/// The params of methods that take one value, or none.
extension RequestView {
  /// Checks the params of a method that takes none.
  package func checkNoParams() throws(RequestError) { _ = try ParamsReader(self) }

  /// The subject of `export` and `forget`.
  package func subject() throws(RequestError) -> String { try ParamsReader(self).requiredSubjectText() }

  /// The watch of `unwatch`, which `watch` answered with.
  package func watch() throws(RequestError) -> Int64 {
    let reader = try ParamsReader(self)
    guard let watch = try reader.integer("watch", in: 0...Int64.max) else { throw reader.error("watch", "is required") }
    return watch
  }

  /// The role of the session that the token of `dashboard` is for.
  package func role() throws(RequestError) -> Role {
    let form = "\"reader\", \"writer\" or \"admin\""
    return try ParamsReader(self).parsed("role", form) { Role(rawValue: $0) } ?? .admin
  }

  /// The node of the cluster whose folder `reload` loads; nil for the one where the client connected.
  package func node() throws(RequestError) -> String? { try ParamsReader(self).string("node") }

  /// The revision of `revision` and `rollback`, nil for the one that was in force before.
  package func revision() throws(RequestError) -> String? {
    let reader = try ParamsReader(self)
    return reader.has("revision") ? try reader.required("revision") : nil
  }

  /// The share of the subjects of `rollout_set`, 0 to 100.
  package func percent() throws(RequestError) -> Double { try ParamsReader(self).percent() }
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

/// The params of `clock`: the new time of the manual clock.
package enum ClockParams: Sendable, Equatable {
  /// A moment, which may be in the past.
  case set(Timestamp)
  /// The present time and so many microseconds more.
  case advance(microseconds: Int64)

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    switch (reader.has("set"), reader.has("advance")) {
    case (true, false):
      guard let text = reader.value("set")?.string, let time = Timestamp(rfc3339: text) else {
        throw reader.error("set", "must be a time in RFC 3339, like \"2025-11-10T12:34:56Z\"")
      }
      self = .set(time)
    case (false, true):
      guard let text = try reader.string("advance"), let duration = DurationText.parse(text, allowsZero: true) else {
        throw reader.error("advance", "must be a duration like \"90s\", \"1h30m\", \"14d\" or \"1w\"")
      }
      self = .advance(microseconds: duration)
    case (true, true): throw reader.error("advance", "excludes set")
    case (false, false): throw reader.error("set", "or params.advance is required")
    }
  }
}

package struct CountersParams: Sendable, Equatable {
  /// The beginning of the counters' names; empty for all.
  package let prefix: String
  /// The labels that a counter must have, in the order given.
  package let labels: [Label]

  package struct Label: Sendable, Equatable {
    package let name: String
    /// The label's value as text; a number or boolean as JSON has it.
    package let value: String
  }

  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    prefix = try reader.string("prefix") ?? ""
    guard let value = reader.value("labels") else {
      labels = []
      return
    }
    guard value.kind == .object else { throw reader.error("labels", "must be an object") }
    labels = try Self.read(value, text: request.paramsText.rawMember("labels"))
  }

  private static func read(_ object: TapeValue, text: ByteView) throws(RequestError) -> [Label] {
    var labels: [String: (position: Int, value: String)] = [:]
    var cursor = MemberCursor(object, text: text)
    var position = 0
    while let member = cursor.next() {
      let name = member.name.text
      position += 1
      if member.value.kind == .null {
        labels[name] = nil
        continue
      }
      guard !member.value.isContainer else {
        throw .invalidParams(path: JSONPath.member("params.labels", member.name), "must be a string")
      }
      labels[name] = (position, (member.value.string ?? member.text).text)
    }
    return labels.sorted { $0.value.position < $1.value.position }.map { Label(name: $0.key, value: $0.value.value) }
  }
}
