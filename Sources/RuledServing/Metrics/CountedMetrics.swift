import RuledCore
import RuledEngine

/// The counters of rules that the configuration wants among the metrics.
enum CountedMetrics {
  /// The longest value of a label, in bytes.
  private static let longestValue = 256

  /// Writes one sample for each counter, up to `settings.series`, and the number of omitted ones.
  static func write(_ settings: Configuration.Metrics, _ context: EngineContext, to text: MetricsWriter) {
    guard !settings.counters.isEmpty else { return }
    var samples: [(labels: MetricsWriter.Labels, value: Double)] = []
    var seen: Set<String> = []
    var omitted = 0
    for prefix in settings.counters {
      for (key, value) in context.counters.select(prefix: prefix, now: context.clock.now.microseconds)
      where seen.insert(key.name + "\0" + key.labels).inserted {
        guard samples.count < settings.series, let labels = labels(of: key) else {
          omitted += 1
          continue
        }
        samples.append((labels, value.double))
      }
    }
    text.counter("ruled_counted_total", "What rules have counted with count(), by the counter's name.", samples)
    text.gauge(
      "ruled_counted_omitted",
      "Counters that are not shown: more than metrics.series, or with a label of more than \(longestValue) bytes.",
      omitted)
  }

  /// The counter's labels, with its name in `counter`; nil if one is too long.
  private static func labels(of key: CounterKey) -> MetricsWriter.Labels? {
    var labels: MetricsWriter.Labels = [("counter", key.name)]
    for member in (try? JSONValue(parsing: key.labels))?.objectValue ?? [:] {
      let value = member.value.stringValue ?? member.value.text
      guard value.utf8.count <= longestValue else { return nil }
      labels.append((member.name, value))
    }
    return labels
  }
}
