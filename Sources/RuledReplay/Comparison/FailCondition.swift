package import RuledCore

/// A limit that a change of rules has to keep, as `--fail-on` states it: `changed > 1%`.
package struct FailCondition: Sendable, Equatable {
  package enum Measure: String, Sendable, CaseIterable {
    /// The events that came out differently.
    case changed
    /// The candidate's failures.
    case failures
    /// The effects that the candidate has more than the baseline.
    case effects
    /// The instructions that the candidate takes more than the baseline.
    case instructions
  }

  package let text: String
  package let measure: Measure
  /// The limit: a fraction from 0 on, or a count.
  package let limit: Double
  /// Whether the limit is a fraction: of the events for `changed` and `failures`, of the baseline's for the others.
  package let isFraction: Bool

  /// The forms of a condition, for help and errors.
  package static let grammar =
    "'MEASURE > LIMIT', where MEASURE is changed, failures, effects or instructions, and LIMIT a fraction such as 1% or "
    + "0.01, or a whole number such as 100"

  /// Reads a condition.
  ///
  /// - Throws: for any other text, with the forms of a condition.
  package init(_ text: String) throws(UsageError) {
    let parts = text.split(separator: ">", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let measure = Measure(rawValue: Self.trimmed(parts[0])) else { throw Self.error(text) }
    var limit = Self.trimmed(parts[1])
    let isPercent = limit.hasSuffix("%")
    if isPercent { limit = Self.trimmed(limit.dropLast()) }
    let isDecimal = limit.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2E }
    guard isDecimal, let first = limit.utf8.first, first != 0x2E, let number = Double(limit) else {
      throw Self.error(text)
    }
    self.text = text
    self.measure = measure
    self.limit = isPercent ? number / 100 : number
    isFraction = isPercent || limit.contains(".")
  }

  private static func error(_ text: String) -> UsageError {
    UsageError("--fail-on '\(text)' is no condition; write \(grammar)")
  }

  private static func trimmed(_ text: Substring) -> String { String(text.trimming { $0 == " " }) }

  func isExceeded(by result: Comparison) -> Bool {
    let (value, whole) = figures(in: result)
    // A fraction of nothing is exceeded by anything.
    return isFraction ? Double(value) > limit * Double(whole) : Double(value) > limit
  }

  private func figures(in result: Comparison) -> (value: Int, whole: Int) {
    func growth(_ count: CountOfSides) -> (Int, Int) { (count.after - count.before, count.before) }
    return switch measure {
    case .changed: (result.outcomes.changed, result.events)
    case .failures: (result.failures.total.after, result.events)
    case .effects: growth(result.effects.total)
    case .instructions: growth(result.rules.instructions)
    }
  }
}
