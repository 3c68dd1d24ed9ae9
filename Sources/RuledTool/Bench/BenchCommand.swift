package import RuledCore
internal import RuledReports

/// `rulectl bench`: puts load on a running daemon.
package enum BenchCommand: Command {
  package static let spec = CommandSpec(
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

  /// Sends the events and prints the report.
  package static func run(_ arguments: Arguments, _ environment: ToolEnvironment) throws -> ExitCode {
    let plan = try BenchPlan(arguments)
    var pump = try BenchPump(plan, path: environment.socket)
    let errors = environment.errors
    let tally = try pump.run { share, tally in
      guard environment.showsProgress else { return }
      errors.write("\r\u{1B}[K\(Figures.percent(share))  \(Figures.count(tally.answered)) replies")
    }
    if environment.showsProgress { errors.write("\r\u{1B}[K") }
    let report = BenchReport(plan: plan, tally: tally)
    if arguments.has("json") {
      environment.print(json: report.json)
    } else {
      environment.output.write(report.text(environment.style))
    }
    return tally.isClean ? .done : .no
  }
}

/// What `rulectl bench` sends, how fast and for how long.
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

  /// The plan that a command line asks for.
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

/// The figures of a `rulectl bench`, for people or as JSON.
struct BenchReport {
  private static let barWidth = 40

  var plan: BenchPlan
  var tally: BenchTally

  func text(_ style: Style) -> String {
    let latency = tally.latency
    let start = plan.rate == nil ? "from sending" : "from the time each was due"
    var text = "\(style.bold(Figures.count(Int(tally.throughput.rounded()))))/s"
    text +=
      "  (\(Figures.count(tally.answeredInTime, "reply", plural: "replies")) in \(Figures.plain(tally.seconds)) s)\n"
    text += "latency \(start): p50 \(micros(latency.quantile(0.5))), p99 \(micros(latency.quantile(0.99))), "
    text += "p99.9 \(micros(latency.quantile(0.999))), longest \(micros(latency.longest))\n"
    let bands = latency.bands()
    let most = bands.map(\.count).max() ?? 0
    if !bands.isEmpty { text += "\n" }
    for band in bands {
      let share = Double(band.count) / Double(max(latency.total, 1))
      let length = Int((Double(band.count) / Double(max(most, 1)) * Double(Self.barWidth)).rounded(.up))
      let bound = pad("≤ " + Figures.micros(band.upTo), to: 10)
      text += "\(bound)  \(pad(Figures.percent(share), to: 7))  \(style.cyan(String(repeating: "#", count: length)))\n"
    }
    return text + problems(style)
  }

  /// The report as JSON; durations are in microseconds.
  var json: JSONValue {
    let refused = tally.refused.sorted { $0.key < $1.key }
    var codes = JSONObject()
    for (code, count) in refused { codes[code] = .integer(Int64(count)) }
    return [
      "connections": .integer(Int64(plan.connections)), "pipeline": .integer(Int64(plan.pipeline)),
      "subjects": .integer(Int64(plan.subjects)), "rate": plan.rate.map(JSONValue.number) ?? .null,
      "seconds": .number(tally.seconds), "sent": .integer(Int64(tally.sent)),
      "answered": .integer(Int64(tally.answered)), "missing": .integer(Int64(tally.missing)),
      "failing": .integer(Int64(tally.failing)), "refused": .object(codes), "throughput": .number(tally.throughput),
      "p50_us": quantile(0.5), "p99_us": quantile(0.99), "p999_us": quantile(0.999),
      "longest_us": .number(Double(tally.latency.longest) / 1000),
    ]
  }

  private func problems(_ style: Style) -> String {
    var text = ""
    for (code, count) in tally.refused.sorted(by: { $0.key < $1.key }) {
      text += style.red("\(Figures.count(count)) refused: \(code)") + "\n"
    }
    if let refusal = tally.refusal { text += "  the first one: \(refusal)\n" }
    if tally.failing > 0 {
      text +=
        style.red("a plugin failed on \(Figures.count(tally.failing, "event"))") + "; 'rulectl parked' lists them\n"
    }
    if tally.missing > 0 { text += style.red("\(Figures.count(tally.missing)) unanswered after ten seconds") + "\n" }
    return text.isEmpty ? "" : "\n" + text
  }

  private func quantile(_ share: Double) -> JSONValue { .number(Double(tally.latency.quantile(share)) / 1000) }

  private func micros(_ nanoseconds: UInt64) -> String { Figures.micros(Double(nanoseconds) / 1000) }

  private func pad(_ text: String, to width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}

/// Counts the replies of a `rulectl bench`.
struct BenchTally: Sendable {
  /// Durations from when a request was due, or without a rate from when it was sent, to its reply.
  var latency = LatencyHistogram()
  var sent = 0
  var answered = 0
  /// Replies received before the time to send was over: the throughput counts these.
  var answeredInTime = 0
  /// Requests that were due and not answered.
  var missing = 0
  /// Events that a plugin failed on.
  var failing = 0
  /// Refused requests, by the error's code.
  var refused: [String: Int] = [:]
  /// The daemon's message on the first request that it refused.
  var refusal: String?
  /// How long requests were sent, in seconds.
  var seconds = 0.0

  /// Replies a second.
  var throughput: Double { seconds > 0 ? Double(answeredInTime) / seconds : 0 }

  /// Whether every request was answered with an outcome that no plugin failed on.
  var isClean: Bool { refused.isEmpty && failing == 0 && missing == 0 }

  /// Counts a reply that is an error, or the outcome of an event that a plugin failed on.
  mutating func countProblem(_ line: String) {
    guard let error = JSONValue(text: line)?.member("error") else {
      failing += 1
      return
    }
    refused[error.member("data")?.member("code")?.stringValue ?? "error", default: 0] += 1
    refusal = refusal ?? error.member("message")?.brief.printable
  }
}
