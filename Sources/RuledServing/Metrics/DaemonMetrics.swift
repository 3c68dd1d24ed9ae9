import RuledCore
import RuledDelivery
import RuledEngine

/// All metrics of the daemon; plugins, rules and sinks are labels, subjects never are.
///
/// All figures are counted beforehand, so that a read of them holds up no thread.
struct DaemonMetrics {
  private let services: Services
  private let pipeline: CommitPipeline
  /// Memory of HTTP requests and responses, in bytes.
  private let webBytes: Int
  private let plugins: [Catalog.Plugin]
  private let text = MetricsWriter()

  /// The metrics in Prometheus's text format; requests and responses over HTTP take `webBytes`.
  static func text(_ services: Services, _ commits: CommitPipeline, webBytes: Int) -> [UInt8] {
    let metrics = DaemonMetrics(services, commits, webBytes: webBytes)
    metrics.writeDaemon()
    metrics.writeEvents()
    metrics.writeRollout()
    metrics.writeShadow()
    metrics.writePlugins()
    metrics.writeWaiting()
    metrics.writeCommits()
    metrics.writeStore()
    metrics.writeJournal()
    metrics.writeQueues()
    metrics.writeSinks()
    if let membership = services.membership { metrics.text.append(membership.metrics) }
    CountedMetrics.write(services.configuration.metrics, services.context, to: metrics.text)
    ProcessMetrics.write(start: services.status.start, log: services.log, to: metrics.text)
    return metrics.text.text
  }

  private init(_ services: Services, _ commits: CommitPipeline, webBytes: Int) {
    self.services = services
    pipeline = commits
    self.webBytes = webBytes
    plugins = services.status.catalog?.plugins ?? []
  }

  private func sum(_ value: (WorkerFigures) -> Int) -> Int { services.figures.reduce(0) { $0 + value($1) } }

  private func byPlugin(_ value: (Catalog.Plugin) -> Int) -> [(labels: MetricsWriter.Labels, value: Double)] {
    plugins.map { ([("plugin", $0.name)], Double(value($0))) }
  }

  private func bySink(_ value: (SinkFigures) -> Int) -> [(labels: MetricsWriter.Labels, value: Double)] {
    services.outbox.figures.map { ([("sink", $0.sink)], Double(value($0.figures))) }
  }

  private func writeDaemon() {
    let status = services.status
    text.info("ruled_build_info", "The version of the daemon.", [[("version", Version.current)]])
    text.info(
      "ruled_rules_info", "The revision of the rules in force.", [[("revision", status.catalog?.revision ?? "")]])
    text.info(
      "ruled_plugin_info", "The plugins in force.",
      plugins.map { [("plugin", $0.name), ("version", $0.manifest.version)] })
    let isReady = HealthReport(services).json["status"] == "ready"
    text.gauge("ruled_ready", "Whether health says ready; 0 when it says degraded.", isReady ? 1 : 0)
    let reloads = status.reloads
    text.counter(
      "ruled_reloads_total", "Loads of rules and configuration, the one at the start included.",
      [([("result", "ok")], Double(reloads.succeeded)), ([("result", "failed")], Double(reloads.failed))])
    text.gauge(
      "ruled_reload_last_success_timestamp_seconds", "When rules and configuration were last loaded.",
      Double(reloads.lastSuccess?.microseconds ?? 0) / 1e6)
    let errors = status.reloadErrors?.errors ?? []
    text.gauge("ruled_reload_errors", "Errors in the rules folder; 0 when the rules load.", errors.count)
    text.info(
      "ruled_reload_error_info", "The places of these errors, of the first ten.",
      Set(errors.prefix(10).map { [$0.file, "\($0.line)"] }).sorted { $0.lexicographicallyPrecedes($1) }
        .map { [("file", $0[0]), ("line", $0[1])] })
    text.configuration(isRefused: status.configurationError != nil || services.bearerToken?.problem != nil)
  }

  private func writeEvents() {
    text.counter(
      "ruled_events_total", "Events that clients sent, repeats and dry runs included.",
      sum { $0.events.load(ordering: .relaxed) })
    text.counter(
      "ruled_events_duplicate_total", "Events that got the remembered outcome of an earlier one.",
      sum { $0.duplicates.load(ordering: .relaxed) })
    text.counter(
      "ruled_events_differing_total", "Repeats whose type or data are not those of the first event.",
      sum { $0.differences.load(ordering: .relaxed) })
    text.counter("ruled_queries_total", "Queries that clients sent.", sum { $0.queries.load(ordering: .relaxed) })
    text.durations(
      "ruled_event_latency_seconds",
      "Time from when a worker begins with the requests that it has received until a client's event can be answered.",
      [([], commits.latency)])
    var errors: [RequestError.Code: Int] = [:]
    for worker in services.figures { errors.merge(worker.errors, uniquingKeysWith: +) }
    text.counter(
      "ruled_request_errors_total", "Requests that were answered with an error.",
      RequestError.Code.allCases.map { ([("code", $0.rawValue)], Double(errors[$0] ?? 0)) })
  }

  private var commits: CommitFigures {
    var all = CommitFigures()
    for worker in services.figures { all.add(worker.commits) }
    return all
  }

  private func writeRollout() {
    guard let rollout = services.status.rollout, rollout.stage == .running else { return }
    let counts = services.rolloutCounts
    let live: MetricsWriter.Labels = [("revision", services.status.catalog?.revision ?? ""), ("side", "live")]
    let candidate: MetricsWriter.Labels = [("revision", rollout.candidate), ("side", "candidate")]
    text.gauge("ruled_rollout_percent", "The share of the subjects that get the candidate.", rollout.percent)
    text.counter(
      "ruled_rollout_events_total", "Events that each side of the rollout has decided.",
      [(live, Double(counts.liveEvents)), (candidate, Double(counts.events))])
    text.counter(
      "ruled_rollout_failures_total", "Events of each side that a plugin has failed on.",
      [(live, Double(counts.liveFailures)), (candidate, Double(counts.failures))])
    text.durations(
      "ruled_rollout_run_seconds",
      "How long the candidate's plugins that differ ran for an event, as ruled_plugin_run_seconds of the live ones.",
      (rollout.times?.changed(from: services.status.catalog) ?? []).map {
        ([("plugin", $0.name)], $0.runtime.runTimes)
      })
  }

  private func writePlugins() {
    text.counter("ruled_plugin_runs_total", "Events that a plugin has handled.", byPlugin { $0.runtime.runs })
    text.counter("ruled_plugin_failures_total", "Events that a plugin has failed on.", byPlugin { $0.runtime.failures })
    text.counter(
      "ruled_rule_failures_total", "Events that a rule has failed on, by kind; the rule is empty outside of rules.",
      plugins.flatMap { plugin in
        plugin.runtime.causes.sorted { ($0.key.rule, $0.key.kind.rawValue) < ($1.key.rule, $1.key.kind.rawValue) }.map {
          ([("plugin", plugin.name), ("rule", $0.key.rule), ("kind", $0.key.kind.rawValue)], Double($0.value))
        }
      })
    text.durations(
      "ruled_plugin_run_seconds", "How long a plugin's rules ran for an event; one event in 16 is measured.",
      plugins.map { ([("plugin", $0.name)], $0.runtime.runTimes) })
    text.gauge("ruled_plugin_suspended", "Whether a plugin is suspended.", byPlugin { $0.runtime.isSuspended ? 1 : 0 })
    text.gauge(
      "ruled_plugin_put_off_subjects", "Subjects whose events are parked for a plugin, as they were stopped in a row.",
      byPlugin { $0.runtime.putOff.count })
    let storming = services.messages.storming
    text.gauge(
      "ruled_plugin_storming", "Whether a plugin's messages cause too many others.",
      byPlugin { storming.contains($0.name) ? 1 : 0 })
  }

  private func writeWaiting() {
    var parked = services.context.parkedCounts.all
    for plugin in plugins { parked[plugin.name, default: 0] += 0 }
    text.gauge(
      "ruled_parked", "Parked events that wait for a retry; the plugin is empty for damaged messages.",
      parked.sorted { $0.key < $1.key }.map { ([("plugin", $0.key)], Double($0.value)) })
    text.gauge("ruled_messages_waiting", "Messages that are committed and not applied yet.", services.messages.waiting)
    text.gauge(
      "ruled_subjects_held", "Subjects whose messages can't be applied at present.", services.messages.delayedSubjects)
    text.gauge(
      "ruled_timers_waiting", "Timers that are set and have not fired.",
      services.context.waitingTimers.load(ordering: .relaxed))
    let timers = services.timers
    text.counter("ruled_timers_fired_total", "Timers that have fired.", timers.fired.load(ordering: .relaxed))
    text.gauge("ruled_timers_held", "Timers that can't fire at present.", timers.retried.load(ordering: .relaxed))
    let step = services.context.timerStep
    let loops = services.context.timerLoops.all(now: services.context.clock.now.microseconds, step: step)
    text.gauge(
      "ruled_timers_looping", "Timers that are set by the event of the timer before, again and again.",
      loops.reduce(0) { $0 + $1.subjects })
    let (now, due) = (services.context.clock.now.microseconds, timers.earliest.load(ordering: .relaxed))
    text.gauge(
      "ruled_timer_lag_seconds", "How long the first timer that is due has been waiting; 0 while none is due.",
      due < now ? Double(now - max(due, 0)) / 1e6 : 0)
    text.gauge(
      "ruled_unreadable_entries", "Entries of the store that can't be read.",
      services.context.damage.entries.listed.count + services.context.damage.entries.beyond)
  }

  private func writeCommits() {
    let commits = commits
    text.histogram("ruled_commit_events", "Changes of subjects in a durable commit.", [([], commits.events)])
    text.histogram("ruled_commit_bytes", "Bytes that a durable commit writes.", [([], commits.bytes)])
    text.durations(
      "ruled_commit_sync_seconds", "How long a sync of the log took, which makes commits durable.",
      [([], pipeline.syncTimes)])
    text.counter("ruled_commits_failed_total", "Commits that were lost or whose outcome is unknown.", commits.lost)
    text.gauge("ruled_cache_subjects", "Subjects in the cache.", sum { $0.hotSubjects.load(ordering: .relaxed) })
    text.gauge("ruled_cache_bytes", "Memory of the cache.", sum { $0.hotBytes.load(ordering: .relaxed) })
    text.counter(
      "ruled_cache_hits_total", "How often a subject was found in the cache.",
      sum { $0.cacheHits.load(ordering: .relaxed) })
    text.counter(
      "ruled_cache_misses_total", "How often a subject was read from the store.",
      sum { $0.cacheMisses.load(ordering: .relaxed) })
  }

  private func writeStore() {
    text.gauge(
      "ruled_store_up", "Whether the store takes commits, and has refused none for a minute.",
      services.status.storeStaysWell() ? 1 : 0)
    guard let disk = services.context.store.disk else { return }
    text.gauge("ruled_store_disk_bytes", "What the store's folder takes on the disk.", disk.bytes)
    text.gauge("ruled_log_bytes", "Bytes in the log that are not in the database yet.", disk.logBytes)
    text.gauge(
      "ruled_log_segments_waiting", "Full segments of the log that wait to be brought into the database.",
      disk.sealedSegments)
  }

  private func writeJournal() {
    guard let journal = services.journal else { return }
    let (taken, files, bytes) = journal.journal.figures
    let summary = journal.journal.summary
    text.gauge("ruled_journal_files", "Files of the journal.", files)
    text.gauge("ruled_journal_bytes", "Bytes in the files of the journal.", bytes)
    text.counter("ruled_journal_entries_total", "Entries that were brought into files since the start.", taken.entries)
    text.gauge(
      "ruled_journal_entries_waiting", "Entries that are in the log and not in files of the journal yet.",
      Int(clamping: pipeline.hub.last - min(summary.last, pipeline.hub.last)))
    text.gauge("ruled_journal_gaps", "Ranges of entries that the journal lacks or can't replay.", journal.gaps.count)
    text.gauge("ruled_journal_up", "Whether the journal can be written.", journal.problems.isEmpty ? 1 : 0)
    if let since = summary.since {
      text.gauge("ruled_journal_oldest_timestamp_seconds", "The time of the oldest entry.", since.seconds)
    }
  }

  private func writeQueues() {
    text.gauge("ruled_connections", "Open connections, without those of visitors.", services.permits.count)
    text.gauge(
      "ruled_site_connections", "Open connections of visitors of the plugins' sites.", services.sitePermits.count)
    text.gauge("ruled_connections_limit", "How many connections there may be.", services.permits.total)
    text.gauge("ruled_watches", "Watches, streams of events included.", pipeline.hub.watches)
    text.counter(
      "ruled_refused_total", "What was refused for want of room.",
      Refusals.Reason.allCases.map { ([("reason", $0.rawValue)], Double(services.refusals.count($0))) })
    text.gauge(
      "ruled_requests_in_flight", "Requests that are accepted and not answered yet.",
      services.inFlight.load(ordering: .relaxed))
    text.gauge("ruled_submissions_waiting", "Commits that wait for the committer's next sync.", pipeline.waiting)
    var mailboxes = services.workers.enumerated().map { ("ruled-\($0.offset)", $0.element.count) }
    mailboxes += [("ruled-outbox", services.outbox.mailbox.count), ("control", services.control.count)]
    text.gauge(
      "ruled_mailbox_messages", "Messages that wait for a thread.",
      mailboxes.map { ([("thread", $0.0)], Double($0.1)) })
    text.gauge("ruled_http_bytes", "Memory of HTTP requests and responses.", webBytes)
  }

  private func writeSinks() {
    let results: [(name: String, count: (SinkFigures.Values) -> Int)] = [
      ("delivered", \.delivered), ("failed", \.failed), ("expired", \.expired), ("retried", \.retried),
    ]
    text.counter(
      "ruled_effect_tries_total", "Tries to deliver an effect: delivered, failed for good, expired, or to be retried.",
      services.outbox.figures.flatMap { (sink, figures) in
        results.map { ([("sink", sink), ("result", $0.name)], Double($0.count(figures.present))) }
      })
    text.gauge(
      "ruled_effects_waiting", "Effects that wait for their delivery.",
      bySink(\.present.waiting))
    text.gauge(
      "ruled_effects_given_up", "Effects that are given up and kept in the store.",
      bySink(\.present.givenUp))
    let (clock, now) = (services.context.clock.now, EngineClock.monotonic)
    text.gauge(
      "ruled_effects_oldest_seconds", "How long the oldest waiting effect has waited; 0 if none waits.",
      bySink { $0.oldestSeconds(now: clock) ?? 0 })
    text.gauge(
      "ruled_sink_failing_seconds", "Time since the first failure after the last success of a sink; 0 while it works.",
      bySink { $0.failingSeconds(now: now) ?? 0 })
    text.gauge(
      "ruled_effects_unreadable", "Waiting effects that can't be read at present.",
      bySink(\.present.unreadable))
  }

  /// The most pairs of plugin and key that are shown; those with most differences come first.
  private static let mostDecisions = 200

  private func writeShadow() {
    guard let shadow = services.shadow.withLock({ $0 }) else { return }
    let (found, skipped, behind, plugins, isUp) = shadow.figures
    text.info("ruled_shadow_info", "The revision that runs as a shadow.", [[("revision", shadow.revision)]])
    text.gauge("ruled_shadow_up", "Whether the shadow follows; 0 when it ended with an error.", isUp ? 1 : 0)
    text.gauge("ruled_shadow_percent", "The share of the subjects that the shadow sees.", shadow.percent)
    text.counter("ruled_shadow_events_total", "Events that the shadow has seen.", Int(found["events"]?.intValue ?? 0))
    text.counter(
      "ruled_shadow_outcomes_total", "Events that came out equal in the shadow, and those that changed.",
      Self.samples(of: .object(found)["outcomes"], ["equal", "changed"], []))
    text.counter(
      "ruled_shadow_decisions_total", "Decisions of live rules and shadow, by how they differ.",
      (found["decisions"]?.arrayValue ?? []).prefix(Self.mostDecisions).flatMap { decision in
        let labels = ["plugin", "key"].map { (name: $0, value: decision[$0]?.stringValue ?? "") }
        return Self.samples(of: decision, ["equal", "changed", "new", "gone"], labels)
      })
    text.counter("ruled_shadow_subjects_skipped_total", "Subjects that the shadow skipped as it was behind.", skipped)
    text.gauge(
      "ruled_shadow_behind_seconds", "How long ago the event happened that the shadow saw last.",
      Double(behind ?? 0) / 1e6)
    text.durations(
      "ruled_shadow_run_seconds",
      "How long the shadow's plugins ran for an event, at low priority, as ruled_plugin_run_seconds of the live ones.",
      plugins.map { ([("plugin", $0.name)], $0.runtime.runTimes) })
  }

  /// A sample for each of some counts, with its name in the label `result`.
  private static func samples(
    of counts: JSONValue?, _ names: [String], _ labels: MetricsWriter.Labels
  ) -> [(labels: MetricsWriter.Labels, value: Double)] {
    names.map { (labels + [("result", $0)], Double(counts?[$0]?.intValue ?? 0)) }
  }
}

extension MetricsWriter {
  package func configuration(isRefused: Bool) {
    gauge("ruled_config_refused", "Whether the configuration that was read last was refused.", isRefused ? 1 : 0)
  }
}
