import RuledCore
import RuledReplay

/// An event that came out differently, explained under both rules: which rules fired, and what they did.
package struct BacktestExample {
  let subject: String
  let event: String
  let type: String
  /// How it came out on each side, one finding a line, with the rules that fired and those that did not.
  let lines: (baseline: [String], candidate: [String])

  init(subject: String, event: String, type: String, baseline: JSONValue, candidate: JSONValue) {
    self.subject = subject
    self.event = event
    self.type = type
    lines = (Self.lines(of: baseline, type), Self.lines(of: candidate, type))
  }

  /// The events that a report explains: some of those that each decision changed for, and the first of the subjects that changed most.
  static func wanted(by result: ComparisonResult) -> [(subject: String, event: String)] {
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
    for subject in result.mostChanged { add(subject.subject, subject.event) }
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
