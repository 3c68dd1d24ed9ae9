internal import RuledCore

/// `rulectl bench`: load on a running daemon.
package enum BenchCommand: Command {
  /// What it is called and takes.
  package static let spec = CommandSpec(
    "bench", "Puts load on a running daemon and measures it.",
    options: [
      OptionSpec("connections", short: "c", value: "N", "Open connections; 50 by default."),
      OptionSpec("pipeline", short: "p", value: "N", "Requests in flight on each, at most; 1 by default."),
      OptionSpec("subjects", value: "N", "Subjects, chosen at random; 100000 by default."),
      OptionSpec("rate", short: "r", value: "R", "Offers R events a second; without it, as fast as replies come."),
      OptionSpec("seconds", short: "s", value: "S", "How long; 10 by default."),
      OptionSpec("type", short: "t", value: "TYPE", "The events' type; bench.event by default."),
      OptionSpec("data", short: "d", value: "JSON", "The events' data."),
      OptionSpec("json", "Prints the figures as JSON; times in microseconds."),
    ],
    details: """
      The events are real: what the rules keep stays, under subjects bench:0, bench:1 and so on.
      With --rate, latency counts from the time at which each event was due, so a daemon that stands still is charged
      for what would have been sent meanwhile; ask with a rate when latency is the question. The exit code is 1 when
      an event was refused, unanswered or failed on by a plugin.
      """,
    examples: [
      .init("rulectl bench", "how much goes through 50 connections"),
      .init("rulectl bench --rate 20000 --pipeline 16 --type flirt.revealed", "latency at 20,000 events a second"),
    ])

  /// Runs the load.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let plan = try BenchPlan(arguments)
    var pump = try BenchPump(plan, path: environment.socket)
    let errors = environment.errors
    let tally = try pump.run { share, tally in
      guard environment.showsProgress else { return }
      errors.write("\r\u{1B}[K\(Figures.percent(share))  \(Figures.count(tally.answered)) replies")
    }
    if environment.showsProgress { errors.write("\r\u{1B}[K") }
    let report = BenchReport(plan, tally)
    if arguments.has("json") {
      environment.print(json: report.json)
    } else {
      environment.output.write(report.text(environment.style))
    }
    return tally.isClean ? .done : .no
  }
}
