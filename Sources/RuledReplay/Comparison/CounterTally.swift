import RuledCore
import RuledEngine

/// Adds up the counts of both sides, by plugin, name and labels.
struct CounterTally {
  /// The sums of a counter on both sides.
  private struct Sums {
    var before = CounterValue.integer(0)
    var after = CounterValue.integer(0)
  }

  /// How many series are told apart; all further ones count as `…`.
  private static let mostSeries = 16_384

  private var sums: [QualifiedName: Sums] = [:]

  mutating func add(_ counts: [EventRecorder.Count], isBaseline: Bool) {
    for count in counts {
      var series = QualifiedName(count.plugin, count.key.name, count.key.labels)
      if sums[series] == nil, sums.count >= Self.mostSeries { series = .others }
      var sum = sums[series] ?? Sums()
      if isBaseline { sum.before = sum.before + count.amount } else { sum.after = sum.after + count.amount }
      sums[series] = sum
    }
  }

  mutating func merge(_ other: CounterTally) {
    sums.merge(other.sums) { Sums(before: $0.before + $1.before, after: $0.after + $1.after) }
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
