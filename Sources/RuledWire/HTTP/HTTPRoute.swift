package import RuledCore

/// The routes of the HTTP API.
package enum HTTPRoute: Sendable, Equatable {
  case events, subjects, watch, rules, reload, parked, counters, health, metrics, dashboard
  case effects, resendEffects, dropEffects, lease, confirm
  /// A query of a plugin, by its full name.
  case query(String)
  /// A subject.
  case subject(String)
  /// All data that is stored about a subject.
  case export(String)
  /// A parked event, by its id.
  case parkedEvent(String)
  /// The retry of a parked event, by its id.
  case retry(String)
  /// An effect that is not delivered, by its id.
  case effect(String)
  /// Another try of an effect, by its id.
  case resend(String)

  /// The route of a path; nil for an unknown path.
  package init?(_ target: HTTPTarget) {
    guard let segments = target.segments, !segments.contains("") || segments.count == 1 else { return nil }
    switch segments.count {
    case 1: self.init(top: segments[0])
    case 2 where segments[0] == "v1": self.init(segments[1])
    case 3 where segments[0] == "v1": self.init(segments[1], segments[2])
    case 4 where segments[0] == "v1": self.init(segments[1], segments[2], segments[3])
    default: return nil
    }
  }

  private init?(top: String) {
    switch top {
    case "": self = .dashboard
    case "healthz": self = .health
    case "metrics": self = .metrics
    default: return nil
    }
  }

  private init?(_ name: String) {
    switch name {
    case "events": self = .events
    case "subjects": self = .subjects
    case "watch": self = .watch
    case "rules": self = .rules
    case "parked": self = .parked
    case "counters": self = .counters
    case "effects": self = .effects
    case "resend": self = .resendEffects
    case "drop_effects": self = .dropEffects
    case "lease": self = .lease
    case "confirm": self = .confirm
    default: return nil
    }
  }

  private init?(_ collection: String, _ item: String) {
    switch collection {
    case "query": self = .query(item)
    case "subjects": self = .subject(item)
    case "rules" where item == "reload": self = .reload
    case "parked": self = .parkedEvent(item)
    case "effects": self = .effect(item)
    default: return nil
    }
  }

  private init?(_ collection: String, _ item: String, _ action: String) {
    switch (collection, action) {
    case ("subjects", "export"): self = .export(item)
    case ("parked", "retry"): self = .retry(item)
    case ("effects", "resend"): self = .resend(item)
    default: return nil
    }
  }

  /// The HTTP methods that the route accepts.
  package var methods: [String] {
    switch self {
    case .events, .query, .reload, .retry, .resend, .resendEffects, .dropEffects, .lease, .confirm: ["POST"]
    case .subject, .effect: ["GET", "HEAD", "DELETE"]
    case .parkedEvent: ["DELETE"]
    default: ["GET", "HEAD"]
    }
  }

  /// The role that a bearer token needs for the route and HTTP method; nil when it needs none.
  package func requiredRole(method: String) -> Role? {
    switch self {
    case .health: nil
    case .events, .watch: .writer
    case .export, .reload, .retry, .parkedEvent: .admin
    case .effect, .resend, .resendEffects, .dropEffects, .lease, .confirm: .admin
    case .subject: method == "DELETE" ? .admin : .reader
    default: .reader
    }
  }

  /// Whether everybody who can open the Unix socket may use the route; the others need an administrator.
  package var isOpen: Bool {
    switch self {
    case .events, .query, .watch, .health: true
    default: false
    }
  }
}
