internal import RuledCore

enum BenchCommand: Command {
  static let spec = CommandSpec(
    "bench", "Puts load on a running daemon and measures it.",
    options: [
      OptionSpec("connections", short: "c", value: "N", "Opens N connections; 50 by default."),
      OptionSpec("pipeline", short: "p", value: "N", "Requests in flight on each connection, at most; 1 by default."),
      OptionSpec("subjects", value: "N", "Sends events of N subjects, chosen at random; 100000 by default."),
      OptionSpec(
        "rate", short: "r", value: "R", "Sends R events a second; without it, the next event when a reply comes."),
      OptionSpec("seconds", short: "s", value: "S", "Sends for S seconds; 10 by default."),
      OptionSpec("type", short: "t", value: "TYPE", "The events' type; bench.event by default."),
      OptionSpec("data", short: "d", value: "JSON", "The events' data."),
      OptionSpec("json", "Prints the figures as JSON, durations in microseconds."),
    ],
    details: """
      The events are real: what the rules store stays, for the subjects bench:0, bench:1 and so on.
      With --rate, the latency of an event is measured from the time at which it was due, not from the time at which it
      was sent: a daemon that stops for a second is charged for every event of that second. Use it to measure latency.
      The exit code is 1 when an event was refused, was not answered, or made a plugin fail.
      """,
    examples: [
      .init("rulectl bench", "the throughput of 50 connections"),
      .init("rulectl bench --rate 20000 --pipeline 16 --type flirt.revealed", "latency at 20,000 events a second"),
    ])

  static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let plan = try BenchPlan(arguments)
    var pump = try BenchPump(plan, path: environment.socket)
    var progress = Progress(environment)
    let tally = try pump.run { progress.show(share: $0, count: $1.answered, "reply", plural: "replies") }
    progress.clear()
    let report = BenchReport(plan: plan, tally: tally)
    environment.show(report.json, arguments) { _ in report.text(environment.style) }
    return tally.isClean ? .done : .no
  }
}

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
