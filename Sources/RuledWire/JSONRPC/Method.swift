import RuledCore

/// The methods of the protocol, by their names on the wire.
package enum Method: String, Sendable, CaseIterable {
  case event, query, state, subjects, export, forget, watch, unwatch
  case rules, reload, parked, retry, drop, counters, topics, clock, health, samples, dashboard, backup, release
  case log, journal, backtest
  case explainPast = "explain_past"
  case effects, effect, resend, lease, confirm
  case dropEffects = "drop_effects"
  case revisions, revision, rollback, unpin, upload
  case shadowStart = "shadow_start"
  case shadowStatus = "shadow_status"
  case shadowStop = "shadow_stop"
  case cluster
  case clusterDrain = "cluster_drain"
  case clusterUndrain = "cluster_undrain"
  case rolloutStart = "rollout_start"
  case rolloutSet = "rollout_set"
  case rolloutStatus = "rollout_status"
  case rolloutPromote = "rollout_promote"
  case rolloutAbort = "rollout_abort"
  /// None of ours; the request holds its name.
  case unknown = ""

  init(_ name: ByteView) {
    if name.equals("event") {
      self = .event
      return
    }
    self = Method(rawValue: name.text) ?? .unknown
  }

  /// The members that its params may have; those of an event are checked by `EventView`, which takes extensions.
  package var members: [StaticString] {
    switch self {
    case .event, .unknown: []
    case .query: ["name", "subject", "args"]
    case .state: ["subject", "plugin", "at", "version"]
    case .explainPast: ["subject", "id", "rules", "no_values"]
    case .subjects, .topics: ["prefix", "after", "limit"]
    case .export, .forget: ["subject"]
    case .watch: ["subject", "prefix", "plugins", "after"]
    case .unwatch: ["watch"]
    case .reload: ["node"]
    case .rules, .health, .samples, .backup, .release, .revisions, .unpin, .journal, .rolloutStatus,
      .rolloutPromote, .rolloutAbort, .shadowStatus, .shadowStop, .cluster:
      []
    case .clusterDrain: ["node", "force"]
    case .clusterUndrain: ["node"]
    case .dashboard: ["role"]
    case .log: ["subject", "type", "plugin", "decision", "failures", "since", "until", "after", "limit"]
    case .backtest: ["rules", "plugins", "since", "until", "subjects", "sample", "fail_on", "html"]
    case .parked: ["plugin", "after", "limit"]
    case .retry, .drop: ["parked", "plugin"]
    case .counters: ["prefix", "labels"]
    case .clock: ["set", "advance"]
    case .effects: ["sink", "plugin", "subject", "type", "status", "data", "after", "limit"]
    case .effect: ["id", "subject", "keys"]
    case .resend, .dropEffects: ["id", "subject", "keys", "sink", "status"]
    case .lease: ["sink", "sinks", "limit", "seconds", "wait"]
    case .confirm: ["leases"]
    case .revision, .rollback: ["revision"]
    case .upload: ["upload", "text"]
    case .rolloutStart: ["rules", "percent", "abort_on"]
    case .rolloutSet: ["percent"]
    case .shadowStart: ["rules", "plugins", "percent"]
    }
  }
}
