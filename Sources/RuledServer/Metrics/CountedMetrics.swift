import RuledCore
import RuledEngine

/// The counters of rules that the configuration wants among the metrics.
struct CountedMetrics {
  /// The longest value of a label, in bytes.
  private static let longestValue = 256

  private let settings: Configuration.Metrics

  /// The counters that `settings` choose.
  init(_ settings: Configuration.Metrics) { self.settings = settings }

  /// Writes one sample for each counter, up to `settings.series`, and how many were left out.
  func write(_ context: EngineContext, to text: MetricsWriter) {
    guard !settings.counters.isEmpty else { return }
    var samples: [(labels: MetricsWriter.Labels, value: Double)] = []
    var seen: Set<String> = []
    var omitted = 0
    for prefix in settings.counters {
      for (key, value) in context.counters.select(prefix: prefix)
      where seen.insert(key.name + "\0" + key.labels).inserted {
        guard samples.count < settings.series, let labels = Self.labels(of: key) else {
          omitted += 1
          continue
        }
        samples.append((labels, value.double))
      }
    }
    text.counter("ruled_counted_total", "What rules have counted with count(), by the counter's name.", samples)
    text.gauge(
      "ruled_counted_omitted",
      "Counters that are not shown: more than metrics.series, or with labels that Prometheus can't take.", omitted)
  }

  /// The counter's labels, with its name in `counter`; nil if they can't be told apart as Prometheus writes them, or are too long.
  private static func labels(of key: CounterTable.Key) -> MetricsWriter.Labels? {
    var labels: MetricsWriter.Labels = [("counter", key.name)]
    let object = (try? JSONValue(parsing: key.labels))?.objectValue ?? [:]
    for member in object {
      let name = labelName(member.name)
      let value = member.value.stringValue ?? member.value.text
      guard !labels.contains(where: { $0.name == name }), value.utf8.count <= longestValue else { return nil }
      labels.append((name, value))
    }
    return labels
  }

  /// A name that Prometheus takes: other characters become underscores, and a name that has a meaning of its own gets a prefix.
  private static func labelName(_ name: String) -> String {
    var text = String(
      name.unicodeScalars.map { scalar -> Character in
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_": Character(scalar)
        default: "_"
        }
      })
    let isReserved = ["counter", "le", "quantile", "job", "instance"].contains(text) || text.hasPrefix("__")
    if isReserved || text.first.map({ $0.isNumber }) ?? true { text = "label_" + text }
    return text
  }
}
