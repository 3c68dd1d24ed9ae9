package import RuledCore

/// Writes metrics in Prometheus's text format, version 0.0.4: one family after the other, each with its help and type.
package final class MetricsWriter {
  package typealias Labels = [(name: String, value: String)]

  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  private let buffer = ByteBuffer(capacity: 16 << 10)

  package init() {}

  package var text: [UInt8] { Array(buffer.bytes) }

  /// Adds metrics that another writer has written.
  func append(_ text: [UInt8]) { text.withView { buffer.append($0) } }

  // MARK: Families

  package func gauge(_ name: String, _ help: String, _ value: Int) { gauge(name, help, [([], Double(value))]) }
  package func gauge(_ name: String, _ help: String, _ value: Double) { gauge(name, help, [([], value)]) }

  package func gauge(_ name: String, _ help: String, _ samples: [(labels: Labels, value: Double)]) {
    family(name, "gauge", help, samples)
  }

  package func counter(_ name: String, _ help: String, _ value: Int) { counter(name, help, [([], Double(value))]) }

  func counter(_ name: String, _ help: String, _ samples: [(labels: Labels, value: Double)]) {
    family(name, "counter", help, samples)
  }

  /// A family with one sample of value 1 whose labels describe something.
  package func info(_ name: String, _ help: String, _ labels: [Labels]) { gauge(name, help, labels.map { ($0, 1) }) }

  /// Distributions of durations, recorded in nanoseconds and written in seconds, by label.
  package func durations(_ name: String, _ help: String, _ samples: [(labels: Labels, value: BucketHistogram)]) {
    histogram(name, help, samples, per: 1e9)
  }

  /// Distributions of values, by label; `unit` is the number of recorded units in one of the family's.
  func histogram(
    _ name: String, _ help: String, _ samples: [(labels: Labels, value: BucketHistogram)], per unit: Double = 1
  ) {
    begin(name, "histogram", help)
    for (labels, histogram) in samples {
      var count: UInt64 = 0
      for (bucket, bound) in histogram.bounds.enumerated() {
        count += histogram.counts[bucket]
        sample(name + "_bucket", labels + [("le", Self.text(Double(bound) / unit))], Double(count))
      }
      count = histogram.total
      sample(name + "_bucket", labels + [("le", "+Inf")], Double(count))
      sample(name + "_sum", labels, Double(histogram.sum) / unit)
      sample(name + "_count", labels, Double(count))
    }
  }

  // MARK: Lines

  private func family(_ name: String, _ type: String, _ help: String, _ samples: [(labels: Labels, value: Double)]) {
    begin(name, type, help)
    for (labels, value) in samples { sample(name, labels, value) }
  }

  private func begin(_ name: String, _ type: String, _ help: String) {
    buffer.append(contentsOf: "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n")
  }

  private func sample(_ name: String, _ labels: Labels, _ value: Double) {
    buffer.append(contentsOf: name)
    if !labels.isEmpty {
      let pairs = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
      buffer.append(contentsOf: "{\(pairs.joined(separator: ","))}")
    }
    buffer.append(contentsOf: " \(Self.text(value))\n")
  }

  /// A label's value with backslash, quote and line feed escaped.
  static func escaped(_ value: String) -> String {
    var escaped = ""
    for character in value.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }

  /// A number, without a fraction if it is whole.
  private static func text(_ value: Double) -> String {
    if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
    return Int64(exactly: value).map { String($0) } ?? String(value)
  }
}
