package import RuledCore
package import RuledJSON

// What each method takes. Each initializer reads the params of a request, or throws `invalid_params` with the path of the member that is wrong.

/// What `query` takes; everything in it is valid until the document parses again.
package struct QueryParams {
  /// The subject whose state the query sees, or nil for a query that needs none.
  package let subject: ByteView?
  /// The plugin, which is what stands before the name's first dot.
  package let plugin: ByteView
  /// The query in the plugin; empty if the name has no dot, which no query matches.
  package let query: ByteView
  /// The arguments, or nil if absent or null.
  package let args: TapeValue?
  /// The text of the arguments as sent; empty if there are none.
  package let argsText: ByteView

  /// Reads the params of a request.
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

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = String(decoding: try reader.requiredSubject(), as: UTF8.self)
    plugin = try reader.string("plugin")
  }
}

/// What `export`, `forget` and `cluster_where` take.
package struct SubjectParams: Sendable, Equatable {
  package let subject: String

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    subject = String(decoding: try ParamsReader(request).requiredSubject(), as: UTF8.self)
  }
}

package struct SubjectsParams: Sendable, Equatable {
  /// How the subjects begin; empty for all.
  package let prefix: String
  /// The subject after which the list begins, or nil for the first.
  package let after: String?
  /// The longest list wanted.
  package let limit: Int

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    prefix = try reader.string("prefix") ?? ""
    after = try reader.string("after")
    limit = try reader.limit()
  }
}

/// What `watch` takes: which changes are wanted.
package struct WatchParams: Sendable, Equatable {
  /// The one subject to watch, or nil for all.
  package let subject: String?
  /// How the subjects to watch begin; empty for all.
  package let prefix: String
  /// The plugins whose changes are wanted, or nil for all.
  package let plugins: [String]?
  /// The sequence after which the changes begin, or nil for the changes from now on.
  package let after: Int64?

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    subject = try reader.subject().map { String(decoding: $0, as: UTF8.self) }
    prefix = try reader.string("prefix") ?? ""
    plugins = try reader.strings("plugins")
    after = try reader.integer("after", in: 0...Int64.max)
  }
}

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

package struct ParkedParams: Sendable, Equatable {
  /// The plugin whose parked events are wanted, or nil for all.
  package let plugin: String?
  /// The parked event after which the list begins, or nil for the first.
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

/// What `retry` and `drop` take: which parked events.
package enum ParkedSelection: Sendable, Equatable {
  case event(id: String)
  case plugin(String)

  /// Reads the params of a request.
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

package struct CountersParams: Sendable, Equatable {
  /// How the counters' names begin; empty for all.
  package let prefix: String
  /// The labels that a counter must have, in the order given.
  package let labels: [Label]

  /// A label and its value.
  package struct Label: Sendable, Equatable {
    package let name: String
    /// The label's value as text; a number or boolean as JSON has it.
    package let value: String

    /// A label with its value.
    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Reads the params of a request.
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
    var labels: [String: (place: Int, value: String)] = [:]
    var cursor = MemberCursor(object, text: text)
    var place = 0
    while let member = cursor.next() {
      let name = String(decoding: member.name, as: UTF8.self)
      place += 1
      if member.value.kind == .null {
        labels[name] = nil
        continue
      }
      guard !member.value.isContainer else {
        throw .invalidParams(path: JSONPath.member("params.labels", member.name), "must be a string")
      }
      labels[name] = (place, String(decoding: member.value.string ?? member.text, as: UTF8.self))
    }
    return labels.sorted { $0.value.place < $1.value.place }.map { Label(name: $0.key, value: $0.value.value) }
  }
}

/// What `clock` takes: what the manual clock is set to.
package enum ClockParams: Sendable, Equatable {
  /// A moment, which may be in the past.
  case set(Timestamp)
  /// The present time and so many microseconds more.
  case advance(microseconds: Int64)

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    switch (reader.has("set"), reader.has("advance")) {
    case (true, false): self = try Self.set(reader)
    case (false, true): self = try Self.advance(reader)
    case (true, true): throw reader.error("advance", "excludes set")
    case (false, false): throw reader.error("set", "or params.advance is required")
    }
  }

  private static func set(_ reader: ParamsReader) throws(RequestError) -> Self {
    guard let text = reader.value("set")?.string, let time = Timestamp(rfc3339: text) else {
      throw reader.error("set", "must be a time in RFC 3339, like \"2025-11-10T12:34:56Z\"")
    }
    return .set(time)
  }

  private static func advance(_ reader: ParamsReader) throws(RequestError) -> Self {
    guard let text = try reader.string("advance"), let duration = DurationText.parse(text, allowsZero: true)
    else {
      throw reader.error("advance", "must be a duration like \"90s\", \"5m\", \"48h\" or \"14d\"")
    }
    return .advance(microseconds: duration)
  }
}

/// What `dashboard` takes: what the session may do that the token is for.
package struct DashboardParams: Sendable, Equatable {
  package let role: Role

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    guard let name = try reader.string("role") else {
      role = .admin
      return
    }
    guard let role = Role(rawValue: name) else {
      throw reader.error("role", "must be \"reader\", \"writer\" or \"admin\"")
    }
    self.role = role
  }
}

/// What `cluster`, `cluster_drain` and `cluster_undrain` take.
package enum ClusterParams: Sendable, Equatable {
  case show
  /// Have a node give the log up; with `force` also if no other one follows closely.
  case drain(node: String, force: Bool)
  /// Let a node own the log again.
  case undrain(node: String)

  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) {
    let reader = try ParamsReader(request)
    switch request.method {
    case .clusterDrain:
      self = .drain(node: try reader.required("node"), force: try reader.boolean("force") ?? false)
    case .clusterUndrain: self = .undrain(node: try reader.required("node"))
    default: self = .show
    }
  }
}

/// What `rules`, `health` and `samples` take: an object; its members are ignored.
package struct EmptyParams: Sendable, Equatable {
  /// Reads the params of a request.
  package init(_ request: RequestView) throws(RequestError) { _ = try ParamsReader(request) }
}
