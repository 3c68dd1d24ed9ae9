import RuledCore
import RuledEngine
import RuledIO
import RuledLua
import Synchronization

/// The state of the daemon, for `health`, `rules` and systemd.
package final class DaemonStatus: Sendable {
  private struct Values {
    var catalog: Catalog?
    var reloadErrors: ReloadError?
    var origin = RulesOrigin.folder
    var rollout: RolloutState?
    var candidate: Catalog?
    var configurationError: StartError?
    var storeError: String?
    /// When the store last refused a commit, in monotonic nanoseconds; nil before that.
    var storeFailure: UInt64?
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
  var rollout: RolloutState? { values.withLock { $0.rollout } }

  /// Sets the last rollout, and the rules that it tries while it runs.
  func noteRollout(_ state: RolloutState?, _ candidate: Catalog?) {
    values.withLock {
      $0.rollout = state
      $0.candidate = candidate
    }
  }

  /// The rules by which subjects are decided.
  struct RulesInForce {
    /// Those of all subjects; nil before they are loaded.
    let live: Catalog?
    /// Those of some, while a rollout tries them.
    let candidate: (rules: Catalog, share: SubjectShare)?

    /// Whether the plugin that set a timer is among the rules of the timer's subject.
    func havePlugin(of timer: DueTimer) -> Bool {
      let rules = candidate.flatMap { $0.share.contains(timer.subject) ? $0.rules : nil } ?? live
      return rules?.has(plugin: timer.plugin) ?? true
    }
  }

  /// The rules by which subjects are decided now.
  var rulesInForce: RulesInForce {
    values.withLock { values in
      RulesInForce(
        live: values.catalog,
        candidate: values.candidate.flatMap { rules in values.rollout.map { (rules: rules, share: $0.share) } })
    }
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
  var configurationError: StartError? {
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

  /// A problem of the store's background work, while it takes commits.
  var background: String? {
    get { values.withLock { $0.backgroundProblem } }
    set { values.withLock { $0.backgroundProblem = newValue } }
  }

  /// For how many seconds the daemon has been running, and the number of errors in the rules in the folder.
  var figures: (uptime: Int, reloadErrors: Int) {
    (Int((EngineClock.monotonic - startedAt) / 1_000_000_000), reloadErrors?.errors.count ?? 0)
  }

  /// What is wrong.
  private struct Findings {
    /// A sentence each.
    var problems: [String] = []
    /// Whether the daemon serves in full nevertheless.
    var isReady = true

    /// Adds problems that leave the daemon ready.
    mutating func note(_ more: [String]) { problems += more }

    /// Adds problems that degrade the daemon.
    mutating func degrade(_ more: [String]) {
      problems += more
      if !more.isEmpty { isReady = false }
    }
  }

  /// What is wrong with this daemon; `monotonic` is the time by which failures are measured, in nanoseconds.
  private func findings(
    _ services: Services, _ now: Values, _ messages: [String], monotonic: UInt64
  ) -> Findings {
    var found = Findings()
    if let error = now.storeError { found.degrade(["the store failed: \(error)"]) }
    // The committer tells of it only once its commit has an end, for which it may wait as long as for the database.
    let lease = services.membership?.node.figures.leaseProblem.map { "\($0)" }
    if let problem = lease ?? now.backgroundProblem { found.degrade(["the store: \(problem)"]) }
    // The log grows meanwhile, but the node serves.
    if let problem = services.membership?.snapshotFigures?.problem { found.note(["snapshots: \(problem)"]) }
    if let error = now.configurationError {
      found.degrade(["the configuration was refused, the old one holds: \(error)"])
    }
    found.degrade([services.bearerToken?.problem].compactMap { $0 })
    let settings = now.catalog?.problems(in: services.configuration) ?? []
    found.note(settings.map { "the configuration: \($0.message)" })
    if let notice = now.origin.notice(now.catalog?.revision ?? "") { found.note([notice]) }
    if now.origin == .stored { found.isReady = false }
    if let rollout = now.rollout, rollout.stage == .running { found.note([rollout.notice]) }
    found.note(services.revisions.problems)
    found.note(services.refusals.problems(now: monotonic))
    let suspended = (now.catalog?.plugins ?? []).filter(\.runtime.isSuspended)
    found.degrade(suspended.map { "the plugin \($0.name) is suspended" })
    for plugin in now.catalog?.plugins ?? [] {
      let count = plugin.runtime.putOff.count
      guard count > 0 else { continue }
      found.note(["the plugin \(plugin.name) is put off for \(count == 1 ? "a subject" : "\(count) subjects")"])
    }
    let limit = services.context.counterLimit
    for name in services.context.counters.usage(limit: limit).full {
      found.note(["the plugin \(name) has \(limit) counters, the limit: a rule that counts another fails"])
    }
    if ZoneFiles.areMissing {
      found.degrade([
        "this host has no time zone files: events that ask for a zone's calendar are parked; install tzdata, then 'rulectl retry'"
      ])
    }
    for loop in looping(services) { found.note([loop.problem]) }
    for (plugin, count) in awayTimers(services) {
      found.note(["the plugin \(plugin) is not loaded; due timers that wait for it: \(count.text)"])
    }
    if services.effectsAreHeld.load(ordering: .relaxed) {
      found.note(["effects are held back since a backup was restored: 'rulectl effects release' has them delivered"])
    }
    found.degrade(services.journal?.problems ?? [])
    if let damage = Self.problem(services.context.damage) { found.degrade([damage]) }
    found.degrade(services.outbox.figures.compactMap { $0.figures.problem(of: $0.sink, now: monotonic) })
    found.degrade(messages)
    return found
  }

  /// The result of `health`; `monotonic` is the time by which failures are measured, in nanoseconds.
  ///
  /// Subjects are named by their hash, or in clear if `namesSubjects`.
  func health(
    _ services: Services, namesSubjects: Bool = false, monotonic: UInt64 = EngineClock.monotonic
  ) -> JSONValue {
    let now = values.withLock { $0 }
    let plugins = now.catalog?.plugins ?? []
    let configured = services.configuration.sinks
    let waiting = Set(plugins.flatMap(\.manifest.sinks)).filter { $0 != "client" && configured[$0]?.delivers != true }
    let messages = services.messages
    let found = findings(services, now, messages.problems, monotonic: monotonic)
    let suspended = plugins.filter(\.runtime.isSuspended).map { JSONValue.string($0.name) }
    let putOff = plugins.flatMap { Self.putOff($0, namesSubjects: namesSubjects) }
    let effectsAreHeld = services.effectsAreHeld.load(ordering: .relaxed)
    let clock = services.context.clock.now
    let sinks: [(String, JSONValue)] = services.outbox.figures.map {
      ($0.sink, $0.figures.json(clock: clock, now: monotonic))
    }
    let parked: [(String, JSONValue)] = services.context.parkedCounts.all.sorted { $0.key < $1.key }.map {
      ($0.key, .integer(Int64($0.value)))
    }
    let limit = services.context.counterLimit
    let counters = services.context.counters.usage(limit: limit)
    let rollout = now.rollout.flatMap { $0.stage == .running ? $0 : nil }
    let unreadable = services.context.damage.entries.listed.prefix(Self.listedLimit).map(\.json)
    return .object([
      "status": .string(found.isReady ? "ready" : "degraded"),
      "revision": .string(now.catalog?.revision ?? ""),
      "store": .string(services.context.store.name),
      "workers": .integer(Int64(services.workers.count)),
      "uptime_s": .integer(Int64((EngineClock.monotonic - startedAt) / 1_000_000_000)),
      "rollout": rollout.map { .string($0.candidate) } ?? .null,
      "shadow": services.shadow.withLock { $0 }.map { .string($0.revision) } ?? .null,
      "pinned": .bool(now.origin == .pinned),
      "problems": .array(found.problems.map { .string($0) }),
      "journal": services.journal?.health ?? .null,
      "suspended": .array(suspended),
      "put_off": .array(putOff),
      "messages": messages.json,
      "parked": .object(JSONObject(parked)),
      "effects_held": .bool(effectsAreHeld),
      "unconfigured_sinks": .array(waiting.sorted().map { .string($0) }),
      "sinks": .object(JSONObject(sinks)),
      "timers": timers(services),
      "connections": .object([
        "open": .integer(Int64(services.places.count)), "limit": .integer(Int64(services.places.total)),
        "sites": .integer(Int64(services.sitePlaces.count)),
        "refused": .object(
          JSONObject(
            Refusals.Reason.allCases.map { ($0.rawValue, .integer(Int64(services.refusals.count($0)))) })),
      ]),
      "counters": .object([
        "series": .integer(Int64(counters.series)), "limit": .integer(Int64(limit)),
        "full": .array(counters.full.map { .string($0) }),
      ]),
      "reload_errors": now.reloadErrors?.json ?? .array([]),
      "unreadable": .array(unreadable),
    ])
  }

  /// The subjects that are put off for a plugin.
  private static func putOff(_ plugin: Catalog.Plugin, namesSubjects: Bool) -> [JSONValue] {
    plugin.runtime.putOff.prefix(putOffLimit).map { (subject, wait) -> JSONValue in
      let hash = subject.withView { SHA256.hash($0) }.hex.prefix(12)
      return [
        "plugin": .string(plugin.name),
        "subject": .string(namesSubjects ? String(decoding: subject, as: UTF8.self) : String(hash)),
        "seconds": .integer((wait + Limits.second - 1) / Limits.second),
      ]
    }
  }

  /// How many subjects that are put off for a plugin `health` lists one by one.
  private static let putOffLimit = 100

  /// A rule whose timers set the next ones, each as early as may be.
  private struct Looping {
    let plugin: String
    let rule: String
    let subjects: Int

    var json: JSONValue {
      ["plugin": .string(plugin), "rule": .string(rule), "subjects": .integer(Int64(subjects))]
    }

    var problem: String {
      "the rule '\(rule)' of the plugin \(plugin) sets timers in a loop; subjects with one: \(subjects)"
    }
  }

  /// The member `timers` of `health`.
  private func timers(_ services: Services) -> JSONValue {
    [
      "looping": .array(looping(services).map(\.json)), "away": .object(JSONObject(awayTimers(services))),
    ]
  }

  private func looping(_ services: Services) -> [Looping] {
    let context = services.context
    return context.timerLoops.all(now: context.clock.now.microseconds, step: context.timerStep).map {
      Looping(plugin: $0.plugin, rule: $0.rule, subjects: $0.subjects)
    }
  }

  /// How many timers are due and wait for each plugin that is not in force, of the first `mostDueTimers` that are due.
  private func awayTimers(_ services: Services) -> [(String, JSONValue)] {
    let (context, rules) = (services.context, rulesInForce)
    let due = try? StoreListing.timers(context, now: context.clock.now.microseconds, limit: Self.mostDueTimers).due
    var counts: [String: Int64] = [:]
    for timer in due ?? [] where !rules.havePlugin(of: timer) {
      counts[String(decoding: timer.plugin, as: UTF8.self), default: 0] += 1
    }
    return counts.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) }
  }

  /// How many due timers `health` looks at.
  private static let mostDueTimers = 1_000

  /// How many unreadable entries of the store `health` lists one by one.
  private static let listedLimit = 20

  private static func problem(_ report: DamageReport) -> String? {
    let (damage, beyond) = report.entries
    guard !damage.isEmpty else { return nil }
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
