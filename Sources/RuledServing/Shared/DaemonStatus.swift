import RuledCore
import RuledEngine
import RuledIO
import RuledLua
import Synchronization

/// The state of the daemon, for `health`, `rules` and systemd.
@dynamicMemberLookup
final class DaemonStatus: Sendable {
  struct Values {
    var catalog: Catalog?
    /// Why the rules in the folder do not load; nil if they do.
    var reloadErrors: ReloadError?
    var origin = RulesOrigin.folder
    var rollout: RolloutState?
    var candidate: Catalog?
    var configurationError: StartError?
    var storeError: String?
    /// When the store last refused a commit, in monotonic nanoseconds; nil before that.
    var storeFailure: UInt64?
    /// A problem of the store's background work, while it takes commits.
    var backgroundProblem: String?
    var reloads = ReloadFigures()

    /// The worst problem; nil if there is none.
    var error: String? {
      if let storeError { return "the store failed: \(storeError)" }
      if let backgroundProblem { return "the store: \(backgroundProblem)" }
      if let configurationError { return "the configuration was refused: \(configurationError)" }
      if let error = reloadErrors?.errors.first { return "the rules do not load: \(error.description)" }
      return nil
    }
  }

  private let values = Mutex(Values())
  private let startedAt = EngineClock.monotonic
  let start = EngineClock.wall

  var present: Values { values.withLock { $0 } }

  var catalog: Catalog? { values.withLock { $0.catalog } }

  subscript<Value: Sendable>(dynamicMember member: WritableKeyPath<Values, Value>) -> Value {
    get { values.withLock { $0[keyPath: member] } }
    set { values.withLock { $0[keyPath: member] = newValue } }
  }

  /// Sets the rules in force, and where they come from.
  func serve(_ catalog: Catalog, as origin: RulesOrigin = .folder) {
    values.withLock {
      $0.catalog = catalog
      $0.origin = origin
    }
  }

  func noteRollout(_ state: RolloutState?, _ candidate: Catalog?) {
    values.withLock {
      $0.rollout = state
      $0.candidate = candidate
    }
  }

  struct RulesInForce {
    /// The live rules; nil before they are loaded.
    let live: Catalog?
    let candidate: (rules: Catalog, share: SubjectShare)?

    /// Whether the plugin that set a timer is among the rules of the timer's subject.
    func havePlugin(of timer: DueTimer) -> Bool {
      let rules = candidate.flatMap { $0.share.contains(timer.subject) ? $0.rules : nil } ?? live
      return rules?.has(plugin: timer.plugin) ?? true
    }
  }

  var rulesInForce: RulesInForce {
    values.withLock { values in
      RulesInForce(
        live: values.catalog,
        candidate: values.candidate.flatMap { rules in values.rollout.map { (rules: rules, share: $0.share) } })
    }
  }

  /// Notes that rules, or configuration and rules, were loaded, or could not be.
  func noteReload(isSuccess: Bool) {
    values.withLock { values in
      if isSuccess {
        values.reloads.succeeded += 1
        values.reloads.lastSuccess = EngineClock.wall
      } else {
        values.reloads.failed += 1
      }
    }
  }

  /// One line for systemd: the rules, the revision, and the worst problem.
  var line: String {
    let now = values.withLock { $0 }
    let plugins = now.catalog?.plugins ?? []
    let rules = plugins.reduce(0) { $0 + $1.manifest.rules.count }
    let error = now.error.map { "; last error: \($0)" } ?? ""
    return "\(rules) rules in \(plugins.count) plugins, revision \(now.catalog?.revision ?? "none")\(error)"
  }

  /// Sets why the store takes no commits; nil if it does.
  func store(_ error: String?, now: UInt64 = EngineClock.monotonic) {
    values.withLock {
      $0.storeError = error
      if error != nil { $0.storeFailure = now }
    }
  }

  /// Whether the store takes commits.
  var storeIsWell: Bool { values.withLock { $0.storeError == nil } }

  /// Whether the store takes commits and has refused none for a minute: on a full disk it opens again after each commit that fails.
  func storeStaysWell(now: UInt64 = EngineClock.monotonic) -> Bool {
    values.withLock { values in
      guard values.storeError == nil else { return false }
      return values.storeFailure.map { now - min($0, now) >= Self.lastingFailure } ?? true
    }
  }

  /// For how long a failure of the store shows in the metrics, in nanoseconds.
  private static let lastingFailure: UInt64 = 60_000_000_000

  /// The daemon's uptime in seconds.
  var uptime: Int { Int((EngineClock.monotonic - startedAt) / 1_000_000_000) }

  func rules() -> JSONValue {
    let now = values.withLock { $0 }
    guard let catalog = now.catalog else { return .null }
    return .object([
      "revision": .string(catalog.revision), "loaded_at": .string(catalog.loadedAt.rfc3339),
      "plugins": .array(catalog.plugins.map(Self.describe)), "errors": now.reloadErrors?.json ?? .array([]),
    ])
  }

  private static func describe(_ plugin: Catalog.Plugin) -> JSONValue {
    .object([
      "name": .string(plugin.name), "version": .string(plugin.manifest.version),
      "about": .string(plugin.manifest.about),
      "rules": .array(plugin.order.map { .string(plugin.manifest.rules[$0].name) }),
      "queries": .array(plugin.manifest.queries.map { .string($0.name) }),
      "events": .array(plugin.manifest.events.map(describe)), "args": args(of: plugin.manifest),
      "runs": .integer(Int64(plugin.runtime.runs)), "failures": .integer(Int64(plugin.runtime.failures)),
      "p50_us": .number(plugin.runtime.percentile(0.5)), "p99_us": .number(plugin.runtime.percentile(0.99)),
      "suspended": .bool(plugin.runtime.isSuspended),
    ])
  }

  private static func describe(_ event: EventDeclaration) -> JSONValue {
    var described: JSONObject = [
      "type": .string(event.type), "about": .string(event.about), "checked": .bool(event.isChecked),
      "closed": .bool(event.isClosed), "data": event.data.json,
    ]
    if event.isInternal { described["from"] = "rules" }
    return .object(described)
  }

  private static func args(of manifest: PluginManifest) -> JSONValue {
    var args = JSONObject()
    for query in manifest.queries { args[query.name] = query.arguments?.json }
    return .object(args)
  }
}

/// The loads of rules and configuration since the start; the one at the start is the first.
struct ReloadFigures: Sendable {
  var succeeded = 0
  /// The number of failed ones, which left the rules and settings in force.
  var failed = 0
  /// When the last one loaded; nil before that.
  var lastSuccess: Timestamp?
}

enum RulesOrigin: Sendable {
  case folder
  /// The last good ones from the store, as the folder's do not load.
  case stored
  case pinned
  /// A rollout that was promoted, while the folder has not changed since.
  case promoted
  /// The log of a cluster, while the folder of this node has others.
  case log

  /// The sentence of `health` about it; nil for the folder.
  func notice(_ revision: String) -> String? {
    switch self {
    case .folder: nil
    case .stored: "the rules do not load, the last good ones serve"
    case .pinned: "revision \(revision) is pinned: the rules folder is not read until 'rulectl unpin'"
    case .log:
      "revision \(revision) is in force in the cluster and the rules folder of this node has others: 'rulectl reload' takes the folder's"
    case .promoted:
      "revision \(revision) was promoted and is not in the rules folder: bring the folder to it before it changes"
    }
  }
}
