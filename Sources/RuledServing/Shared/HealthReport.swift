import RuledCore
import RuledEngine
import RuledLua

/// The result of `health`: the daemon's condition and its problems.
struct HealthReport {
  private let services: Services
  private let now: DaemonStatus.Values
  private let namesSubjects: Bool
  private let monotonic: UInt64

  /// A report on the daemon as it is now; `monotonic` is the time by which failures are measured, in nanoseconds.
  ///
  /// Subjects are named by their hash, or in clear if `namesSubjects`.
  init(_ services: Services, namesSubjects: Bool = false, monotonic: UInt64 = EngineClock.monotonic) {
    self.services = services
    self.namesSubjects = namesSubjects
    self.monotonic = monotonic
    now = services.status.present
  }

  private struct Findings {
    /// A sentence each.
    var problems: [String] = []
    /// Whether the daemon serves in full nevertheless.
    var isReady = true

    /// Adds problems that leave the daemon ready.
    mutating func note(_ more: [String]) { problems += more }

    mutating func degrade(_ more: [String]) {
      problems += more
      if !more.isEmpty { isReady = false }
    }
  }

  private func findings(_ messages: [String]) -> Findings {
    var found = Findings()
    // The status tells of a commit that failed outside the pipeline only once the committer has seen it.
    let failure = now.storeError ?? services.context.store.state.failure?.description
    if let failure { found.degrade(["the store failed: \(failure)"]) }
    // The committer tells of it only once its commit has an end, for which it may wait as long as for the database.
    let lease = services.membership?.leaseProblem
    if let problem = lease ?? now.backgroundProblem { found.degrade(["the store: \(problem)"]) }
    // The log grows meanwhile, but the node serves.
    if let problem = services.membership?.snapshotProblem { found.note(["snapshots: \(problem)"]) }
    if let error = now.configurationError {
      found.degrade(["the configuration was refused, the old one stays in force: \(error)"])
    }
    found.degrade([services.bearerToken?.problem].compactMap { $0 })
    let settings = now.catalog?.problems(in: services.configuration) ?? []
    found.note(settings.filter { !$0.isBadSetting }.map { "the configuration: \($0.message)" })
    found.degrade(
      settings.filter(\.isBadSetting).map { "the configuration: \($0.message); the plugin's own is in force" })
    if let notice = now.origin.notice(now.catalog?.revision ?? "") { found.note([notice]) }
    if now.origin == .stored { found.isReady = false }
    if let rollout = now.rollout, rollout.stage == .running { found.note([rollout.notice]) }
    found.note(services.revisions.problems)
    found.note(services.refusals.problems(now: monotonic))
    let plugins = now.catalog?.plugins ?? []
    found.degrade(plugins.filter(\.runtime.isSuspended).map { "the plugin \($0.name) is suspended" })
    for (name, count) in plugins.map({ ($0.name, $0.runtime.putOff.count) }) where count > 0 {
      found.note(["the plugin \(name) is put off for \(count == 1 ? "a subject" : "\(count) subjects")"])
    }
    let limit = services.context.counterLimit
    found.note(
      services.context.counters.usage(limit: limit).full.map {
        "the plugin \($0) has \(limit) counters, the limit: further labels count as { other = true }"
      })
    if ZoneFiles.areMissing {
      found.degrade([
        "this host has no time zone files: events that ask for a zone's calendar are parked; install tzdata, then 'rulectl retry'"
      ])
    }
    found.note(
      looping.map {
        "the rule '\($0.rule)' of the plugin \($0.plugin) sets timers in a loop; subjects with one: \($0.subjects)"
      })
    found.note(awayTimers.map { "the plugin \($0) is not loaded; due timers that wait for it: \($1.text)" })
    if services.areEffectsHeld {
      found.note(["effects are held back since a backup was restored: 'rulectl effects release' has them delivered"])
    }
    if let journal = services.journal { found.degrade(journal.problems + journal.damages) }
    if let damage = Self.problem(services.context.damage) { found.degrade([damage]) }
    found.degrade(services.outbox.figures.compactMap { $0.figures.problem(of: $0.sink, now: monotonic) })
    found.degrade(messages)
    return found
  }

  var json: JSONValue {
    let plugins = now.catalog?.plugins ?? []
    let configured = services.configuration.sinks
    let waiting = Set(plugins.flatMap(\.manifest.sinks)).filter { $0 != "client" && configured[$0]?.delivers != true }
    let messages = services.messages
    let found = findings(messages.problems)
    let suspended = plugins.filter(\.runtime.isSuspended).map { JSONValue.string($0.name) }
    let putOff = plugins.flatMap { Self.putOff($0, namesSubjects: namesSubjects) }
    let clock = services.context.clock.now
    let sinks: [(String, JSONValue)] = services.outbox.figures.map {
      ($0.sink, $0.figures.json(clock: clock, now: monotonic))
    }
    let parked: [(String, JSONValue)] = services.context.parkedCounts.all.sorted { $0.key < $1.key }.map {
      ($0.key, .integer(Int64($0.value)))
    }
    let rollout = now.rollout.flatMap { $0.stage == .running ? $0 : nil }
    let unreadable = services.context.damage.entries.listed.prefix(Self.listedLimit).map(\.json)
    // Constants with a type: within the literal, each of these would take the compiler seconds.
    let candidate: JSONValue = rollout.map { .string($0.candidate) } ?? .null
    let shadow: JSONValue = services.shadow.withLock { $0 }.map { .string($0.revision) } ?? .null
    let journal: JSONValue = services.journal?.health ?? .null
    let manual: JSONValue = services.context.clock.isManual ? .string(clock.exactRFC3339) : .null
    let reloadErrors: JSONValue = now.reloadErrors?.json ?? .array([])
    return .object([
      "status": .string(found.isReady ? "ready" : "degraded"),
      "revision": .string(now.catalog?.revision ?? ""),
      "store": .string(services.context.store.name),
      "workers": .integer(Int64(services.workers.count)),
      "uptime_s": .integer(Int64(services.status.uptime)),
      "manual_clock": manual,
      "rollout": candidate,
      "shadow": shadow,
      "pinned": .bool(now.origin == .pinned),
      "problems": .array(found.problems.map { .string($0) }),
      "journal": journal,
      "suspended": .array(suspended),
      "put_off": .array(putOff),
      "messages": messages.json,
      "parked": .object(JSONObject(parked)),
      "effects_held": .bool(services.areEffectsHeld),
      "unconfigured_sinks": .array(waiting.sorted().map { .string($0) }),
      "sinks": .object(JSONObject(sinks)),
      "timers": timers,
      "connections": connections,
      "counters": counters,
      "reload_errors": reloadErrors,
      "unreadable": .array(unreadable),
    ])
  }

  private var connections: JSONValue {
    let refused = Refusals.Reason.allCases.map { reason -> (String, JSONValue) in
      (reason.rawValue, .integer(Int64(services.refusals.count(reason))))
    }
    return [
      "open": .integer(Int64(services.permits.count)), "limit": .integer(Int64(services.permits.total)),
      "sites": .integer(Int64(services.sitePermits.count)), "refused": .object(JSONObject(refused)),
    ]
  }

  private var counters: JSONValue {
    let limit = services.context.counterLimit
    let counters = services.context.counters.usage(limit: limit)
    let full = counters.full.map { JSONValue.string($0) }
    return ["series": .integer(Int64(counters.series)), "limit": .integer(Int64(limit)), "full": .array(full)]
  }

  private static func putOff(_ plugin: Catalog.Plugin, namesSubjects: Bool) -> [JSONValue] {
    plugin.runtime.putOff.prefix(putOffLimit).map { (subject, wait) -> JSONValue in
      [
        "plugin": .string(plugin.name),
        "subject": .string(namesSubjects ? subject.text : LogLine.hash(of: subject)),
        "seconds": .integer((wait + Limits.second - 1) / Limits.second),
      ]
    }
  }

  /// The most subjects put off for a plugin that `health` lists one by one.
  private static let putOffLimit = 100

  private var timers: JSONValue {
    let loops = looping.map { loop -> JSONValue in
      ["plugin": .string(loop.plugin), "rule": .string(loop.rule), "subjects": .integer(Int64(loop.subjects))]
    }
    return ["looping": .array(loops), "away": .object(JSONObject(awayTimers))]
  }

  /// The rules whose timers set the next ones in a loop, each as early as allowed.
  private var looping: [(plugin: String, rule: String, subjects: Int)] {
    let context = services.context
    return context.timerLoops.all(now: context.clock.now.microseconds, step: context.timerStep)
  }

  /// The number of due timers that wait for each plugin that is not in force, among the first `mostDueTimers` due ones.
  private var awayTimers: [(String, JSONValue)] {
    let (context, rules) = (services.context, services.status.rulesInForce)
    let due = try? StoreListing.timers(context, now: context.clock.now.microseconds, limit: Self.mostDueTimers).due
    var counts: [String: Int64] = [:]
    for timer in due ?? [] where !rules.havePlugin(of: timer) {
      counts[timer.plugin.text, default: 0] += 1
    }
    return counts.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) }
  }

  private static let mostDueTimers = 1_000

  /// The most unreadable entries of the store that `health` lists one by one.
  private static let listedLimit = 20

  private static func problem(_ report: DamageReport) -> String? {
    let (damage, beyond) = report.entries
    guard !damage.isEmpty else { return nil }
    let files = Set(damage.compactMap(\.error.file)).sorted()
    let count = beyond > 0 ? "more than \(damage.count)" : "\(damage.count)"
    return "\(count) \(damage.count == 1 && beyond == 0 ? "entry" : "entries") of the store can't be read"
      + (files.isEmpty ? "" : ", in \(files.joined(separator: ", "))")
      + "; only requests that need them are refused: mend the disk, or restore a backup of the store"
  }
}
