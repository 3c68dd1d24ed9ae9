import RuledCore
import RuledEngine

extension DaemonMetrics {
  /// How many pairs of plugin and key are shown, those with most differences first.
  private static let mostDecisions = 200

  /// What the shadow found, while one runs.
  func writeShadow() {
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
    text.histogram(
      "ruled_shadow_run_seconds",
      "How long the shadow's plugins ran for an event, at low priority, as ruled_plugin_run_seconds of the live ones.",
      per: Self.nanoseconds, plugins.map { ([("plugin", $0.name)], $0.runtime.runTimes) })
  }

  /// A sample for each of some counts, with its name in the label `result`.
  private static func samples(
    of counts: JSONValue?, _ names: [String], _ labels: MetricsWriter.Labels
  ) -> [(labels: MetricsWriter.Labels, value: Double)] {
    names.map { (labels + [("result", $0)], Double(counts?[$0]?.intValue ?? 0)) }
  }
}
