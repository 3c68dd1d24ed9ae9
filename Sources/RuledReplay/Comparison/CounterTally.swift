import RuledCore
import RuledEngine

/// Adds up the counts of both sides, by plugin, name and labels.
struct CounterTally {
  /// How many series are told apart; all further ones count as `…`.
  private static let mostSeries = 16_384

  private var sums: [QualifiedName: (before: CounterValue, after: CounterValue)] = [:]

  mutating func add(_ counts: [EventRecorder.Count], isBaseline: Bool) {
    for count in counts {
      var series = QualifiedName(count.plugin, count.key.name, count.key.labels)
      if sums[series] == nil, sums.count >= Self.mostSeries { series = .others }
      let sum = sums[series] ?? (.integer(0), .integer(0))
      sums[series] = isBaseline ? (sum.before + count.amount, sum.after) : (sum.before, sum.after + count.amount)
    }
  }

  mutating func merge(_ other: CounterTally) {
    sums.merge(other.sums) { ($0.before + $1.before, $0.after + $1.after) }
  }

  /// The sums as the report's `counters`.
  var json: JSONValue {
    .array(
      sums.sorted { $0.key < $1.key }.map { series, sum in
        [
          "plugin": .string(series.plugin), "name": .string(series.name.text),
          "labels": (try? JSONValue(parsing: series.detail.text)) ?? [:], "before": sum.before.json,
          "after": sum.after.json,
        ]
      })
  }
}
