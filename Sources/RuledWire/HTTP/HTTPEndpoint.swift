package import RuledCore

/// The endpoints of the HTTP API: the one table that requests are routed by, and that `docs/openapi.json` is held against.
///
/// A segment in braces stands for a name. Of two whose paths match, the first one counts.
package enum HTTPEndpoint: Int, Sendable, CaseIterable {
  case events, query, subjects, subject, export, subjectLog, log, explainPast, watch, rules, reload, revisions
  case revision, rollback, unpin, upload, backtest, shadow, shadowStop, rollout, rolloutSet, rolloutPromote
  case rolloutAbort, parked, retry, parkedEvent, counters, topics, samples, effects, resend, effect, resendEffects
  case dropEffects, lease, confirm, backup, release, health, alive, ready, metrics, openapi, dashboard
  case dashboardFile, session

  /// The path, the role that a bearer token needs, nil for none, and the methods of the protocol that HTTP methods stand for.
  private typealias Row = (path: String, role: Role?, uses: KeyValuePairs<String, Method?>)

  private static let rows = allCases.map(\.makeRow)

  private var row: Row { Self.rows[rawValue] }

  private var makeRow: Row {
    switch self {
    case .events: ("/v1/events", .writer, ["POST": .event])
    case .query: ("/v1/query/{query}", .reader, ["POST": .query])
    case .subjects: ("/v1/subjects", .reader, ["GET": .subjects])
    case .subject: ("/v1/subjects/{subject}", .reader, ["GET": .state, "DELETE": .forget])
    case .export: ("/v1/subjects/{subject}/export", .admin, ["GET": .export])
    case .subjectLog: ("/v1/subjects/{subject}/log", .admin, ["GET": .log])
    case .log: ("/v1/log", .admin, ["GET": .log])
    case .explainPast: ("/v1/explain", .admin, ["POST": .explainPast])
    case .watch: ("/v1/watch", .writer, ["GET": .watch])
    case .rules: ("/v1/rules", .reader, ["GET": .rules])
    case .reload: ("/v1/rules/reload", .admin, ["POST": .reload])
    case .revisions: ("/v1/revisions", .admin, ["GET": .revisions])
    case .revision: ("/v1/revisions/{revision}", .admin, ["GET": .revision])
    case .rollback: ("/v1/rollback", .admin, ["POST": .rollback])
    case .unpin: ("/v1/unpin", .admin, ["POST": .unpin])
    case .upload: ("/v1/upload", .admin, ["POST": .upload])
    case .backtest: ("/v1/backtest", .admin, ["POST": .backtest])
    case .shadow: ("/v1/shadow", .admin, ["GET": .shadowStatus, "POST": .shadowStart])
    case .shadowStop: ("/v1/shadow/stop", .admin, ["POST": .shadowStop])
    case .rollout: ("/v1/rollout", .admin, ["GET": .rolloutStatus, "POST": .rolloutStart])
    case .rolloutSet: ("/v1/rollout/set", .admin, ["POST": .rolloutSet])
    case .rolloutPromote: ("/v1/rollout/promote", .admin, ["POST": .rolloutPromote])
    case .rolloutAbort: ("/v1/rollout/abort", .admin, ["POST": .rolloutAbort])
    case .parked: ("/v1/parked", .reader, ["GET": .parked])
    case .retry: ("/v1/parked/{id}/retry", .admin, ["POST": .retry])
    case .parkedEvent: ("/v1/parked/{id}", .admin, ["DELETE": .drop])
    case .counters: ("/v1/counters", .reader, ["GET": .counters])
    case .topics: ("/v1/topics", .reader, ["GET": .topics])
    case .samples: ("/v1/samples", .reader, ["GET": .samples])
    case .effects: ("/v1/effects", .reader, ["GET": .effects])
    case .resend: ("/v1/effects/{id}/resend", .admin, ["POST": .resend])
    case .effect: ("/v1/effects/{id}", .admin, ["GET": .effect, "DELETE": .dropEffects])
    case .resendEffects: ("/v1/resend", .admin, ["POST": .resend])
    case .dropEffects: ("/v1/drop_effects", .admin, ["POST": .dropEffects])
    case .lease: ("/v1/lease", .admin, ["POST": .lease])
    case .confirm: ("/v1/confirm", .admin, ["POST": .confirm])
    case .backup: ("/v1/backup", .admin, ["POST": .backup])
    case .release: ("/v1/release", .admin, ["POST": .release])
    case .health: ("/healthz", nil, ["GET": .health])
    case .alive: ("/livez", nil, ["GET": nil])
    case .ready: ("/readyz", nil, ["GET": nil])
    case .metrics: ("/metrics", .reader, ["GET": nil])
    case .openapi: ("/openapi.json", .reader, ["GET": nil])
    case .dashboard: ("/", .reader, ["GET": nil])
    case .dashboardFile: ("/dashboard/{file}", .reader, ["GET": nil])
    case .session: ("/v1/session", .reader, ["DELETE": nil])
    }
  }

  package var path: String { row.path }

  package var methods: [String] { Self.allMethods[rawValue] }

  private static let allMethods = rows.map { $0.uses.flatMap { $0.key == "GET" ? ["GET", "HEAD"] : [$0.key] } }

  /// The method of the protocol that an HTTP method stands for; nil where there is none.
  package func method(_ httpMethod: String) -> Method? {
    let name = httpMethod == "HEAD" ? "GET" : httpMethod
    return row.uses.first { $0.key == name }?.value
  }

  /// The names that a request's query string may have: the members of the method's params that neither the path nor the body holds.
  package func parameters(_ httpMethod: String) -> [String] {
    switch self {
    case .subjectLog: Method.log.members.map(\.description).filter { $0 != "subject" }
    case .subjects, .log, .watch, .parked, .counters, .topics, .effects:
      method(httpMethod)?.members.map(\.description) ?? []
    case .subject where httpMethod != "DELETE": ["plugin", "at", "version"]
    case .dashboard: ["token"]
    case .effect, .resend: ["subject"]
    default: []
    }
  }

  /// The role that a bearer token needs for an HTTP method; nil when it needs none.
  package func requiredRole(_ httpMethod: String) -> Role? {
    self == .subject && httpMethod == "DELETE" ? .admin : row.role
  }

  /// Whether it needs neither a token nor room among the requests in flight: probes must reach the daemon at all times.
  package var isForProbes: Bool { row.role == nil }

  /// Whether everybody who can open the Unix socket may use it; the others need an administrator.
  package var isOpen: Bool {
    switch self {
    case .events, .query, .watch, .openapi: true
    default: isForProbes
    }
  }

  /// The paths of all endpoints, split at their slashes; nil stands for a name.
  static let patterns = allCases.map { endpoint in
    (endpoint, endpoint.path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(segment))
  }

  private static func segment(_ text: Substring) -> String? { text.hasPrefix("{") ? nil : String(text) }
}

package struct HTTPRoute: Sendable, Equatable {
  package let endpoint: HTTPEndpoint
  /// The name in the path, decoded; empty for a path without one.
  package let item: String

  /// The route of a path; nil for an unknown path.
  package init?(_ target: HTTPTarget) {
    guard let segments = target.segments else { return nil }
    for (endpoint, pattern) in HTTPEndpoint.patterns where pattern.count == segments.count {
      let matched = zip(segments, pattern)
      guard matched.allSatisfy({ $1 == nil ? !$0.isEmpty : $0 == $1 }) else { continue }
      self.init(endpoint, matched.first { $0.1 == nil }?.0 ?? "")
      return
    }
    return nil
  }

  init(_ endpoint: HTTPEndpoint, _ item: String = "") {
    self.endpoint = endpoint
    self.item = item
  }
}
