internal import RuledCore

struct BenchPlan: Sendable {
  var connections = 50
  /// Requests in flight on each connection, at most.
  var pipeline = 1
  /// Subjects, chosen uniformly at random.
  var subjects = 100_000
  /// Requests a second, however fast replies come; nil sends the next request when a reply comes.
  var rate: Double?
  /// How long requests are sent, in seconds.
  var seconds = 10.0
  var type = "bench.event"
  /// The events' data, as JSON.
  var data = "{}"

  init(_ arguments: Arguments) throws(UsageError) {
    connections = try arguments.integer("connections", in: 1...1000) ?? connections
    pipeline = try arguments.integer("pipeline", in: 1...65_536) ?? pipeline
    subjects = try arguments.integer("subjects", in: 1...100_000_000) ?? subjects
    rate = try arguments.number("rate", in: 0.1...10_000_000)
    seconds = try arguments.number("seconds", in: 0.1...86_400) ?? seconds
    type = arguments.value("type") ?? type
    data = try KeyValue.value(of: "data", in: arguments)?.text ?? data
  }
}
