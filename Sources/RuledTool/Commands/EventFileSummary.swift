internal import RuledCore

/// What came of a file of events.
struct EventFileSummary {
  /// Whether nothing was kept.
  let isDryRun: Bool
  /// Events that the daemon took.
  private(set) var sent = 0
  /// Of these, how many it had taken before.
  private(set) var duplicates = 0
  /// Of these, how many some plugin failed on.
  private(set) var failed = 0
  /// Lines that were no event or that the daemon refused.
  private(set) var refused = 0

  /// Nothing sent yet.
  init(isDryRun: Bool) { self.isDryRun = isDryRun }

  /// Counts a line's result.
  mutating func add(_ result: Result<JSONValue, DaemonError>) {
    guard case .success(let outcome) = result else {
      refused += 1
      return
    }
    sent += 1
    if outcome.member("duplicate")?.boolValue ?? false { duplicates += 1 }
    if !(outcome.member("failures")?.arrayValue ?? []).isEmpty { failed += 1 }
  }

  /// The counts in one line.
  var text: String {
    "\(isDryRun ? "evaluated" : "sent") \(Figures.count(sent, "event")): \(Figures.count(duplicates, "duplicate")), "
      + "\(Figures.count(failed)) with failures; \(Figures.count(refused)) refused"
  }
}
