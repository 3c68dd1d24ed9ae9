internal import RuledCore

/// What `rulectl bench` sends: how many connections, how much on each, how fast and for how long.
package struct BenchPlan: Sendable {
  /// Open connections.
  package var connections = 50
  /// Requests in flight on each connection, at most.
  package var pipeline = 1
  /// Subjects, chosen uniformly at random.
  package var subjects = 100_000
  /// Requests offered a second, whatever the replies do; nil sends the next when a reply comes.
  package var rate: Double?
  /// How long requests are sent, in seconds.
  package var seconds = 10.0
  /// The events' type.
  package var type = "bench.event"
  /// The events' data, as JSON.
  package var data = "{}"

  /// A plan that sends `bench.event` as fast as 50 connections get their replies.
  package init() {}

  /// The plan that a person asked for.
  package init(_ arguments: Arguments) throws(ToolError) {
    connections = try arguments.integer("connections", in: 1...1000) ?? connections
    pipeline = try arguments.integer("pipeline", in: 1...65_536) ?? pipeline
    subjects = try arguments.integer("subjects", in: 1...100_000_000) ?? subjects
    rate = try Self.number(arguments, "rate", in: 0.1...10_000_000)
    seconds = try Self.number(arguments, "seconds", in: 0.1...86_400) ?? seconds
    type = arguments.value("type") ?? type
    if let text = arguments.value("data") {
      do { data = try JSONValue(parsing: text).text } catch { throw ToolError("--data is not JSON: \(error)") }
    }
  }

  private static func number(
    _ arguments: Arguments, _ option: String, in range: ClosedRange<Double>
  ) throws(ToolError) -> Double? {
    guard let text = arguments.value(option) else { return nil }
    guard let number = Double(text), range.contains(number) else {
      let bounds = "\(Figures.plain(range.lowerBound)) to \(Figures.plain(range.upperBound))"
      throw ToolError("--\(option) takes a number from \(bounds), not '\(text)'")
    }
    return number
  }
}
