import RuledCore
import RuledEngine
import RuledLua
import Synchronization

/// The state of the daemon, for `health`, `rules` and systemd.
package final class DaemonStatus: Sendable {
  private struct Values {
    var catalog: Catalog?
    var reloadErrors: ReloadError?
    var origin = RulesOrigin.folder
    var rollout: RolloutState?
    var configurationError: String?
    var storeError: String?
    var backgroundProblem: String?
    var reloads = ReloadFigures()
  }

  private let values = Mutex(Values())
  private let startedAt = EngineClock.monotonic
  /// When the daemon was started.
  let start = EngineClock.wall

  /// The state of a daemon that has just started.
  init() {}

  /// The rules in force.
  var catalog: Catalog? { values.withLock { $0.catalog } }

  /// Why the rules in the folder do not load; nil if they do.
  var reloadErrors: ReloadError? {
    get { values.withLock { $0.reloadErrors } }
    set { values.withLock { $0.reloadErrors = newValue } }
  }

  /// Sets the rules in force, and where they come from.
  func serve(_ catalog: Catalog, as origin: RulesOrigin = .folder) {
    values.withLock {
      $0.catalog = catalog
      $0.origin = origin
    }
  }

  /// The last rollout.
  var rollout: RolloutState? {
    get { values.withLock { $0.rollout } }
    set { values.withLock { $0.rollout = newValue } }
  }

  /// The loads of rules and configuration since the start.
  var reloads: ReloadFigures { values.withLock { $0.reloads } }

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

  /// Why the configuration could not be read; nil if it could.
  var configurationError: String? {
    get { values.withLock { $0.configurationError } }
    set { values.withLock { $0.configurationError = newValue } }
  }

  /// One line for systemd: the rules, the revision, and what is wrong.
  var line: String {
    let now = values.withLock { $0 }
    let plugins = now.catalog?.plugins ?? []
    let rules = plugins.reduce(0) { $0 + $1.manifest.rules.count }
    let error =
      now.storeError.map { "the store failed: \($0)" }
      ?? now.backgroundProblem.map { "the store: \($0)" }
      ?? now.configurationError.map { "the configuration was refused: \($0)" }
      ?? now.reloadErrors?.errors.first.map { "the rules do not load: \($0.description)" }
    return "\(rules) rules in \(plugins.count) plugins, revision \(now.catalog?.revision ?? "none")"
      + (error.map { "; last error: \($0)" } ?? "")
  }

  /// Sets why the store takes no commits; nil if it does.
  func store(_ error: String?) { values.withLock { $0.storeError = error } }

  /// Whether the store takes commits.
  var storeIsWell: Bool { values.withLock { $0.storeError == nil } }

  /// A problem of the store's background work, while it takes commits.
  var background: String? {
    get { values.withLock { $0.backgroundProblem } }
    set { values.withLock { $0.backgroundProblem = newValue } }
  }

  /// For how many seconds the daemon has been running, and the number of errors in the rules in the folder.
  var figures: (uptime: Int, reloadErrors: Int) {
    (Int((EngineClock.monotonic - startedAt) / 1_000_000_000), reloadErrors?.errors.count ?? 0)
  }

  /// The result of `health`; `monotonic` is the time by which failures are measured, in nanoseconds.
  func health(_ services: Services, monotonic: UInt64 = EngineClock.monotonic) -> JSONValue {
    let now = values.withLock { $0 }
    let plugins = now.catalog?.plugins ?? []
    let suspended = plugins.filter(\.runtime.isSuspended).map { JSONValue.string($0.name) }
    let configured = services.configuration.sinks
    let waiting = Set(plugins.flatMap(\.manifest.sinks)).filter { $0 != "client" && configured[$0]?.delivers != true }
    var problems: [JSONValue] = []
    if let error = now.storeError { problems.append(.string("the store failed: \(error)")) }
    if let problem = now.backgroundProblem { problems.append(.string("the store: \(problem)")) }
    // The log grows meanwhile, but the node serves.
    if let problem = services.membership?.snapshotProblem { problems.append(.string("snapshots: \(problem)")) }
    if let notice = now.origin.notice(now.catalog?.revision ?? "") { problems.append(.string(notice)) }
    let rollout = now.rollout.flatMap { $0.stage == .running ? $0 : nil }
    if let rollout { problems.append(.string(rollout.notice)) }
    problems += services.revisions.problems.map { .string($0) }
    for name in suspended { problems.append(.string("the plugin \(name.stringValue ?? "") is suspended")) }
    let limit = services.context.counterLimit
    let counters = services.context.counters.usage(limit: limit)
    for name in counters.full {
      problems.append(.string("the plugin \(name) has \(limit) counters, the limit: a rule that counts another fails"))
    }
    let effectsAreHeld = services.effectsAreHeld.load(ordering: .relaxed)
    if effectsAreHeld {
      problems.append(
        .string("effects are held back since a backup was restored: 'rulectl effects release' has them delivered"))
    }
    let journalProblems = services.journal?.problems ?? []
    problems += journalProblems.map { .string($0) }
    let damage = services.context.damage.entries
    if !damage.listed.isEmpty { problems.append(.string(Self.problem(damage.listed, beyond: damage.beyond))) }
    let sinks = services.outbox.figures
    let sinkProblems = sinks.compactMap { $0.figures.problem(of: $0.sink, now: monotonic) }
    problems += sinkProblems.map { .string($0) }
    let messages = services.messages
    problems += messages.problems.map { .string($0) }
    let isReady =
      now.storeError == nil && now.backgroundProblem == nil && now.origin != .stored && suspended.isEmpty
      && damage.listed.isEmpty && messages.problems.isEmpty && sinkProblems.isEmpty
      && journalProblems.isEmpty
    return .object([
      "status": .string(isReady ? "ready" : "degraded"),
      "revision": .string(now.catalog?.revision ?? ""),
      "store": .string(services.context.store.name),
      "workers": .integer(Int64(services.workers.count)),
      "uptime_s": .integer(Int64((EngineClock.monotonic - startedAt) / 1_000_000_000)),
      "rollout": rollout.map { .string($0.candidate) } ?? .null,
      "shadow": services.shadow.withLock { $0 }.map { .string($0.revision) } ?? .null,
      "pinned": .bool(now.origin == .pinned),
      "problems": .array(problems),
      "journal": services.journal?.health ?? .null,
      "suspended": .array(suspended),
      "messages": messages.json,
      "parked": .object(
        JSONObject(
          services.context.parkedCounts.all.sorted { $0.key < $1.key }.map { ($0.key, .integer(Int64($0.value))) })),
      "effects_held": .bool(effectsAreHeld),
      "unconfigured_sinks": .array(waiting.sorted().map { .string($0) }),
      "sinks": .object(
        JSONObject(
          sinks.map { ($0.sink, $0.figures.json(clock: services.context.clock.now, now: monotonic)) })),
      "counters": .object([
        "series": .integer(Int64(counters.series)), "limit": .integer(Int64(limit)),
        "full": .array(counters.full.map { .string($0) }),
      ]),
      "reload_errors": now.reloadErrors?.json ?? .array([]),
      "unreadable": .array(damage.listed.prefix(Self.listedLimit).map(\.json)),
    ])
  }

  /// How many unreadable entries of the store `health` lists one by one.
  private static let listedLimit = 20

  private static func problem(_ damage: [DamageReport.Entry], beyond: Int) -> String {
    let files = Set(damage.compactMap(\.error.file)).sorted()
    let count = beyond > 0 ? "more than \(damage.count)" : "\(damage.count)"
    return "\(count) \(damage.count == 1 && beyond == 0 ? "entry" : "entries") of the store can't be read"
      + (files.isEmpty ? "" : ", in \(files.joined(separator: ", "))")
      + "; only who needs them is refused: mend the disk, or restore a backup of the store"
  }

  /// The result of `rules`.
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
    .object([
      "type": .string(event.type), "about": .string(event.about), "checked": .bool(event.isChecked),
      "closed": .bool(event.isClosed), "data": event.data.json,
    ])
  }

  /// The declared arguments of a plugin's queries.
  private static func args(of manifest: PluginManifest) -> JSONValue {
    var args = JSONObject()
    for query in manifest.queries { args[query.name] = query.arguments?.json }
    return .object(args)
  }
}

/// The loads of rules and configuration since the start; the one at the start is the first.
struct ReloadFigures: Sendable {
  /// How many loaded.
  var succeeded = 0
  /// How many did not, so that what was in force stayed.
  var failed = 0
  /// When the last one loaded; nil before that.
  var lastSuccess: Timestamp?
}

/// Where the rules in force come from.
enum RulesOrigin: Sendable {
  /// The rules folder.
  case folder
  /// The last good ones from the store, as those in the folder do not load.
  case stored
  /// An earlier revision, which is pinned.
  case pinned
  /// A rollout that was promoted, while the folder has not changed since.
  case promoted
  /// The log of a cluster, while the folder of this node has others.
  case log

  /// What `health` says of it; nil for the folder.
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
