package import RuledCore

/// The endpoints of the HTTP API: the one table that requests are routed by, and that `docs/openapi.json` is held against.
///
/// A segment in braces stands for a name. Of two whose paths match, the first one counts.
package enum HTTPEndpoint: String, Sendable, CaseIterable {
  case events = "/v1/events"
  case query = "/v1/query/{query}"
  case subjects = "/v1/subjects"
  case subject = "/v1/subjects/{subject}"
  case export = "/v1/subjects/{subject}/export"
  case subjectLog = "/v1/subjects/{subject}/log"
  case log = "/v1/log"
  case explainPast = "/v1/explain"
  case watch = "/v1/watch"
  case rules = "/v1/rules"
  case reload = "/v1/rules/reload"
  case revisions = "/v1/revisions"
  case revision = "/v1/revisions/{revision}"
  case rollback = "/v1/rollback"
  case unpin = "/v1/unpin"
  case upload = "/v1/upload"
  case backtest = "/v1/backtest"
  case shadow = "/v1/shadow"
  case shadowStop = "/v1/shadow/stop"
  case rollout = "/v1/rollout"
  case rolloutSet = "/v1/rollout/set"
  case rolloutPromote = "/v1/rollout/promote"
  case rolloutAbort = "/v1/rollout/abort"
  case parked = "/v1/parked"
  case retry = "/v1/parked/{id}/retry"
  case parkedEvent = "/v1/parked/{id}"
  case counters = "/v1/counters"
  case topics = "/v1/topics"
  case samples = "/v1/samples"
  case effects = "/v1/effects"
  case resend = "/v1/effects/{id}/resend"
  case effect = "/v1/effects/{id}"
  case resendEffects = "/v1/resend"
  case dropEffects = "/v1/drop_effects"
  case lease = "/v1/lease"
  case confirm = "/v1/confirm"
  case backup = "/v1/backup"
  case release = "/v1/release"
  case health = "/healthz"
  case alive = "/livez"
  case ready = "/readyz"
  case metrics = "/metrics"
  case openapi = "/openapi.json"
  case dashboard = "/"
  case dashboardFile = "/dashboard/{file}"
  case session = "/v1/session"

  package var methods: [String] {
    switch self {
    case .events, .query, .explainPast, .backtest, .reload, .retry, .resend, .resendEffects, .dropEffects, .lease,
      .confirm, .rollback, .unpin, .upload, .backup, .release, .rolloutSet, .rolloutPromote, .rolloutAbort, .shadowStop:
      ["POST"]
    case .rollout, .shadow: ["GET", "HEAD", "POST"]
    case .subject, .effect: ["GET", "HEAD", "DELETE"]
    case .parkedEvent, .session: ["DELETE"]
    default: ["GET", "HEAD"]
    }
  }

  /// The method of the protocol that an HTTP method stands for; nil where there is none.
  package func method(_ httpMethod: String) -> Method? {
    switch self {
    case .events: .event
    case .query: .query
    case .subjects: .subjects
    case .subject: httpMethod == "DELETE" ? .forget : .state
    case .export: .export
    case .subjectLog, .log: .log
    case .explainPast: .explainPast
    case .backtest: .backtest
    case .watch: .watch
    case .rules: .rules
    case .reload: .reload
    case .revisions: .revisions
    case .revision: .revision
    case .rollback: .rollback
    case .unpin: .unpin
    case .upload: .upload
    case .rollout: httpMethod == "POST" ? .rolloutStart : .rolloutStatus
    case .rolloutSet: .rolloutSet
    case .shadow: httpMethod == "POST" ? .shadowStart : .shadowStatus
    case .shadowStop: .shadowStop
    case .rolloutPromote: .rolloutPromote
    case .rolloutAbort: .rolloutAbort
    case .parked: .parked
    case .retry: .retry
    case .parkedEvent: .drop
    case .counters: .counters
    case .topics: .topics
    case .samples: .samples
    case .effects: .effects
    case .effect: httpMethod == "DELETE" ? .dropEffects : .effect
    case .resend, .resendEffects: .resend
    case .dropEffects: .dropEffects
    case .lease: .lease
    case .confirm: .confirm
    case .backup: .backup
    case .release: .release
    case .health: .health
    case .alive, .ready, .metrics, .openapi, .dashboard, .dashboardFile, .session: nil
    }
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
    switch self {
    case .health, .alive, .ready: nil
    case .events, .watch: .writer
    case .export, .subjectLog, .log, .explainPast, .backtest, .reload, .retry, .parkedEvent, .rollback, .unpin, .upload:
      .admin
    case .revisions, .revision, .rollout, .rolloutSet, .rolloutPromote, .rolloutAbort, .shadow, .shadowStop: .admin
    case .effect, .resend, .resendEffects, .dropEffects, .lease, .confirm, .backup, .release: .admin
    case .subject: httpMethod == "DELETE" ? .admin : .reader
    case .query, .subjects, .rules, .parked, .counters, .topics, .samples, .effects, .metrics, .openapi, .dashboard,
      .dashboardFile, .session:
      .reader
    }
  }

  /// Whether it needs neither a token nor room among the requests in flight: probes must reach the daemon at all times.
  package var isForProbes: Bool {
    switch self {
    case .health, .alive, .ready: true
    default: false
    }
  }

  /// Whether everybody who can open the Unix socket may use it; the others need an administrator.
  package var isOpen: Bool {
    switch self {
    case .events, .query, .watch, .openapi: true
    default: isForProbes
    }
  }

  /// The paths of all endpoints, split at their slashes; nil stands for a name.
  static let patterns = allCases.map { endpoint in
    (endpoint, endpoint.rawValue.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(segment))
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
