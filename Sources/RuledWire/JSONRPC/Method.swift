/// The methods of the protocol.
package enum Method: Sendable, Hashable, CaseIterable {
  case event, query, state, subjects, export, forget, watch, unwatch
  case rules, reload, parked, retry, drop, counters, clock, health
  case effects, effect, resend, dropEffects, lease, confirm
  /// None of ours; the request holds its name.
  case unknown

  /// The method called `name`.
  package init(_ name: UnsafeRawBufferPointer) {
    if name.equals("event") {
      self = .event
      return
    }
    self = Self.allCases.first { $0 != .unknown && name.equals($0.name) } ?? .unknown
  }

  /// The name on the wire; empty for `unknown`.
  package var name: StaticString {
    switch self {
    case .event: "event"
    case .query: "query"
    case .state: "state"
    case .subjects: "subjects"
    case .export: "export"
    case .forget: "forget"
    case .watch: "watch"
    case .unwatch: "unwatch"
    case .rules: "rules"
    case .reload: "reload"
    case .parked: "parked"
    case .retry: "retry"
    case .drop: "drop"
    case .counters: "counters"
    case .clock: "clock"
    case .health: "health"
    case .effects: "effects"
    case .effect: "effect"
    case .resend: "resend"
    case .dropEffects: "drop_effects"
    case .lease: "lease"
    case .confirm: "confirm"
    case .unknown: ""
    }
  }
}
