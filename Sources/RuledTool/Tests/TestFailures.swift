internal import RuledCore
internal import RuledEngine
internal import RuledLua

/// The failures of rules in a test, and which of them the test expected.
struct TestFailures {
  /// A failure, and the event that it was on.
  struct Entry {
    /// The failure as an outcome has it.
    let failure: JSONValue
    let type: String
    let subject: String
    /// The number of the outcome of `t:event` that has it; nil if a timer or a message failed.
    let outcome: Int?
    /// The line of the test, then those of its helpers.
    let locations: [TestLocation]

    /// The file, the line, the rule, and the failure, in a line.
    var text: String {
      var text = ""
      if let file = failure["file"]?.stringValue { text = "\(file):\(failure["line"]?.intValue ?? 0): " }
      let plugin = failure["plugin"]?.stringValue ?? ""
      let rule = failure["rule"]?.stringValue.map { "rule '\($0)' of plugin '\(plugin)'" } ?? "plugin '\(plugin)'"
      let kind = failure["kind"]?.stringValue ?? "error"
      let message = failure["message"]?.stringValue ?? ""
      return text + "\(rule) failed on '\(type)' of \(subject) (\(kind)): \(message)"
    }

    /// The failure with the event, as `t:failures` returns it.
    var json: JSONValue {
      var object = failure.objectValue ?? JSONObject()
      object["type"] = .string(type)
      object["subject"] = .string(subject)
      return .object(object)
    }
  }

  /// The failures that the test neither read nor took, in order.
  private(set) var unexpected: [Entry] = []
  private(set) var outcomes = 0

  /// Adds the failures of an outcome, or on a timer or a message, without those that the test wants, by `t:failing`.
  mutating func add(
    _ failures: [JSONValue], type: String, subject: String, isOutcome: Bool, at locations: () -> [TestLocation]
  ) {
    guard !failures.isEmpty else { return }
    if isOutcome { outcomes += 1 }
    unexpected += failures.filter { $0["message"]?.stringValue != LocalEngine.wantedFailure }.map {
      Entry(failure: $0, type: type, subject: subject, outcome: isOutcome ? outcomes : nil, locations: locations())
    }
  }

  /// Notes that the test read the failures of an outcome.
  mutating func expect(outcome: Int) { unexpected.removeAll { $0.outcome == outcome } }

  /// Removes and returns those from index `first` on.
  mutating func take(from first: Int = 0) -> [Entry] {
    defer { unexpected.removeSubrange(min(first, unexpected.count)...) }
    return Array(unexpected.dropFirst(first))
  }

  /// Failures as the text of an error: the first one's location at its beginning, and below it the lines of the test.
  static func text(_ entries: [Entry]) -> String? {
    guard let first = entries.first else { return nil }
    let most = 10
    var lines = [first.text + ", which the test did not expect"] + first.locations.map { "  at \($0.text)" }
    lines += entries.dropFirst().prefix(most - 1).map(\.text)
    if entries.count > most { lines.append("and \(entries.count - most) more failures") }
    return lines.joined(separator: "\n")
  }
}
