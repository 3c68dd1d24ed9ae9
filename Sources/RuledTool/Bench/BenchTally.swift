internal import RuledCore

/// What came of the requests of a `rulectl bench`.
package struct BenchTally: Sendable {
  /// Times from sending, or from when a request was due, to its reply.
  package var latency = LatencyHistogram()
  /// Requests sent.
  package var sent = 0
  /// Replies received.
  package var answered = 0
  /// Replies received before the time was over: what throughput counts.
  package var answeredInTime = 0
  /// Requests that nothing was heard of until the wait for the last replies ended.
  package var missing = 0
  /// Events that some plugin failed on.
  package var failing = 0
  /// Refused requests, by the error's code.
  package var refused: [String: Int] = [:]
  /// What the daemon said of the first request that it refused.
  package var refusal: String?
  /// How long requests were sent, in seconds.
  package var seconds = 0.0

  /// Nothing yet.
  package init() {}

  /// Replies a second.
  package var throughput: Double { seconds > 0 ? Double(answeredInTime) / seconds : 0 }

  /// Whether every request was answered with an outcome that no plugin failed on.
  package var isClean: Bool { refused.isEmpty && failing == 0 && missing == 0 }

  /// Counts what a reply that is no plain outcome says.
  mutating func countTrouble(_ line: String) {
    guard let error = JSONValue(text: line)?.member("error") else {
      failing += 1
      return
    }
    refused[error.member("data")?.member("code")?.stringValue ?? "error", default: 0] += 1
    refusal = refusal ?? error.member("message")?.brief.printable
  }
}
