internal import RuledCore
internal import RuledReports

struct BenchReport {
  private static let barWidth = 40

  var plan: BenchPlan
  var tally: BenchTally

  private var throughput: Double { Double(tally.answeredInTime) / plan.seconds }

  func text(_ style: Style) -> String {
    let latency = tally.latency
    let start = plan.rate == nil ? "from sending" : "from the time each was due"
    var text = "\(style.bold(Figures.count(Int(throughput.rounded()))))/s"
    text +=
      "  (\(Figures.count(tally.answeredInTime, "reply", plural: "replies")) in \(Figures.plain(plan.seconds)) s)\n"
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
      .map { (name: $0.key, value: JSONValue.integer(Int64($0.value))) }
    return [
      "connections": .integer(Int64(plan.connections)), "pipeline": .integer(Int64(plan.pipeline)),
      "subjects": .integer(Int64(plan.subjects)), "rate": plan.rate.map(JSONValue.number) ?? .null,
      "seconds": .number(plan.seconds), "sent": .integer(Int64(tally.sent)),
      "answered": .integer(Int64(tally.answered)), "missing": .integer(Int64(tally.missing)),
      "failing": .integer(Int64(tally.failing)), "refused": .object(JSONObject(refused)),
      "throughput": .number(throughput),
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
