internal import RuledCore

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
