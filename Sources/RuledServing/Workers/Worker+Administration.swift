import RuledCore
import RuledEngine
import RuledLua
import RuledWire

/// The methods that show or erase.
extension Worker {
  /// Appends the result of a method that shows or erases.
  func administrate(_ request: RequestView, _ target: ReplyTarget, into bytes: ByteBuffer) throws(RequestError) {
    let context = services.context
    switch request.method {
    case .state:
      let params = try StateParams(request)
      let subject = Array(params.subject.utf8)
      let deciding = evaluator.deciding(for: subject)
      try subject.withView { (subject) throws(RequestError) in
        try (params.plugin ?? "").withView { (plugin) throws(RequestError) in
          try deciding.state(subject, plugin: params.plugin == nil ? nil : plugin, into: bytes)
        }
      }
    case .export:
      let subject = Array(try request.subject().utf8)
      let deciding = evaluator.deciding(for: subject)
      try subject.withView { (subject) throws(RequestError) in try deciding.export(subject).write(to: bytes) }
    case .forget:
      try request.subject().withView { (subject) throws(RequestError) in
        try evaluator.forget(subject).write(to: bytes)
      }
    case .subjects:
      let params = try PageParams(request)
      let found = try StoreListing.subjects(context, prefix: params.prefix, after: params.after, limit: params.limit)
      Self.page("subjects", .array(found.subjects.map { .string($0) }), next: found.next).write(to: bytes)
    case .topics:
      let params = try PageParams(request)
      let found = try TopicListing.page(context, prefix: params.prefix, after: params.after, limit: params.limit)
      Self.page("topics", .array(found.topics.map(\.json)), next: found.next).write(to: bytes)
    case .parked:
      let params = try PageParams(request)
      let found = try StoreListing.parked(
        context, plugin: params.plugin, after: params.after, limit: params.limit, bytes: Limits.pageBytes)
      Self.page("parked", .array(found.parked), next: found.next).write(to: bytes)
    case .counters: counters(try CountersParams(request)).write(to: bytes)
    case .rules:
      try request.checkNoParams()
      services.status.rules().write(to: bytes)
    case .health:
      try request.checkNoParams()
      HealthReport(services, namesSubjects: target.isAdmin).json.write(to: bytes)
    case .samples:
      try request.checkNoParams()
      services.load.json.write(to: bytes)
    case .upload: try services.uploads.add(UploadParams(request)).write(to: bytes)
    case .dashboard: link(try request.role()).write(to: bytes)
    default: throw request.unknownMethod
    }
  }

  /// A link to the dashboard with a token that works once.
  private func link(_ role: Role) -> JSONValue {
    let token = services.sessions.issue(role, now: EngineClock.monotonic)
    let address = services.context.configuration.http.listen
    // With port 0 the system has chosen the port; rulectl then serves the page on one of its own.
    let listen = address.flatMap { $0.port == 0 ? nil : JSONValue.string($0.text) } ?? .null
    return [
      "token": .string(token), "path": .string("/?token=\(token)"), "role": .string(role.rawValue),
      "expires_s": .integer(Int64(DashboardSessions.tokenSeconds)), "listen": listen,
    ]
  }

  /// A page of a listing; `next` is where the next page begins.
  private static func page(_ name: String, _ items: JSONValue, next: String?) -> JSONValue {
    .members([name: items, "next": next.map(JSONValue.string)])
  }

  /// The counters with a name prefix and with the wanted labels, which are compared as Prometheus has them.
  private func counters(_ params: CountersParams) -> JSONValue {
    let all = params.labels.map { (name: CounterLabels.name($0.name), value: $0.value) }
    let found = evaluator.counters(prefix: params.prefix).compactMap { counter -> JSONValue? in
      let labels = (try? JSONValue(parsing: counter.key.labels))?.objectValue ?? JSONObject()
      let isWanted = all.allSatisfy { (labels[$0.name]?.stringValue ?? "").isIdentical(to: $0.value) }
      guard isWanted else { return nil }
      return .object(["name": .string(counter.key.name), "labels": .object(labels), "value": counter.value.json])
    }
    return .array(found)
  }
}
