package import RuledCore
package import RuledReplay

/// Explains some of the events that came out differently, for a report's page: of each decision, and of the subjects that changed most.
///
/// The events are played once more for it.
package enum ExampleSearch {
  /// Plays a backtest in order on this thread, as `JournalBacktest.playInOrder` does, until all events are found.
  package static func examples(
    of result: Comparison, in backtest: JournalBacktest, _ rules: @escaping Sides.Load,
    shouldContinue: (_ played: Int) -> Bool
  ) throws(RequestError) -> [BacktestExample] {
    let wanted = wanted(by: result), subjects = Set(wanted.map(\.subject))
    guard !wanted.isEmpty else { return [] }
    var found: [BacktestExample] = []
    try backtest.playInOrder(rules, shouldContinue: { found.count < wanted.count && shouldContinue($0) }) {
      (entry, sides) throws(RequestError) in
      guard subjects.contains(entry.subject) else { return }
      let (id, type) = (entry.eventID, entry.eventType)
      guard wanted.contains(where: { $0.subject == entry.subject && $0.event == id }) else { return }
      let explained = try sides.explain(entry)
      found.append(
        BacktestExample(
          subject: entry.subject, event: id, type: type,
          lines: (lines(of: explained.baseline, type), lines(of: explained.candidate, type))))
    }
    return found
  }

  /// The events that a report explains: some of those that each decision changed for, and the first of the subjects that changed most.
  private static func wanted(by result: Comparison) -> [(subject: String, event: String)] {
    var wanted: [(subject: String, event: String)] = []
    func add(_ subject: String, _ event: String) {
      guard wanted.count < 40, !wanted.contains(where: { $0.subject == subject && $0.event == event }) else { return }
      wanted.append((subject, event))
    }
    for decision in result.details.prefix(12) {
      for kind: JSONValue in ["changed", "gone", "new"] {
        let examples = decision.elements("examples").filter { $0["kind"] == kind }
        for example in examples.prefix(2) { add(example.word("subject"), example.word("event")) }
      }
    }
    for subject in result.mostChanged where subject.only == nil { add(subject.subject, subject.event) }
    return wanted
  }

  private static func lines(of outcome: JSONValue, _ type: String) -> [String] {
    let tree = TraceTree(withoutTimes(outcome), style: .plain).text(type: type)
    return OutcomeText(outcome, style: .plain).findings + [""] + tree.split(separator: "\n").map(String.init)
  }

  /// The outcome with a trace of the rules that listened, which does not tell how long they took: that differs from run to run.
  private static func withoutTimes(_ outcome: JSONValue) -> JSONValue {
    guard var members = outcome.objectValue else { return outcome }
    members["trace"] = .array(
      outcome.elements("trace").compactMap { entry in
        guard var members = entry.objectValue, entry["reason"]?.stringValue?.hasPrefix("listens to") != true else {
          return nil
        }
        members["micros"] = nil
        return .object(members)
      })
    return .object(members)
  }
}

/// An event that came out differently, explained under both rules: which rules fired, and what they did.
package struct BacktestExample {
  let subject: String
  let event: String
  let type: String
  /// How it came out on each side, one finding a line, with the rules that fired and those that did not.
  let lines: (baseline: [String], candidate: [String])
}
