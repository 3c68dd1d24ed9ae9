import RuledCore

package enum Method: Sendable, Hashable, CaseIterable {
  case event, query, state, subjects, export, forget, watch, unwatch
  case rules, reload, parked, retry, drop, counters, topics, clock, health, samples, dashboard, backup, release
  case log, journal, backtest, explainPast
  case effects, effect, resend, dropEffects, lease, confirm
  case revisions, revision, rollback, unpin, upload
  case shadowStart, shadowStatus, shadowStop
  case cluster, clusterDrain, clusterUndrain
  case rolloutStart, rolloutSet, rolloutStatus, rolloutPromote, rolloutAbort
  /// None of ours; the request holds its name.
  case unknown

  init(_ name: ByteView) {
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
    case .topics: "topics"
    case .clock: "clock"
    case .health: "health"
    case .samples: "samples"
    case .dashboard: "dashboard"
    case .effects: "effects"
    case .effect: "effect"
    case .resend: "resend"
    case .dropEffects: "drop_effects"
    case .lease: "lease"
    case .confirm: "confirm"
    case .backup: "backup"
    case .release: "release"
    case .revisions: "revisions"
    case .revision: "revision"
    case .rollback: "rollback"
    case .unpin: "unpin"
    case .upload: "upload"
    case .log: "log"
    case .backtest: "backtest"
    case .journal: "journal"
    case .shadowStart: "shadow_start"
    case .shadowStatus: "shadow_status"
    case .shadowStop: "shadow_stop"
    case .rolloutStart: "rollout_start"
    case .rolloutSet: "rollout_set"
    case .rolloutStatus: "rollout_status"
    case .rolloutPromote: "rollout_promote"
    case .rolloutAbort: "rollout_abort"
    case .explainPast: "explain_past"
    case .cluster: "cluster"
    case .clusterDrain: "cluster_drain"
    case .clusterUndrain: "cluster_undrain"
    case .unknown: ""
    }
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
    case .log:
      ["subject", "type", "plugin", "decision", "failures", "since", "until", "after", "limit"]
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
