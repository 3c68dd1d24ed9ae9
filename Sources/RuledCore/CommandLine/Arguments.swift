package struct Arguments: Sendable, Equatable {
  package var operands: [String] = []
  /// The values of each option, in order; an option that takes none has an empty one for each time it was given.
  package var values: [String: [String]] = [:]

  package init() {}

  package func has(_ option: String) -> Bool { values[option] != nil }

  /// The option's value, the last one if it was given more than once.
  package func value(_ option: String) -> String? { values[option]?.last }

  package func operand(_ index: Int) -> String? { index < operands.count ? operands[index] : nil }

  /// The option's values, split at commas.
  package func list(_ option: String) -> [String] {
    (values[option] ?? []).flatMap { $0.split(separator: ",").map(String.init) }
  }

  /// The option's value as a whole number in `range`; nil when the option was not given.
  package func integer(_ option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = value(option) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError(
        "--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return number
  }

  package func number(_ option: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
    guard let text = value(option) else { return nil }
    guard let number = Double(text), range.contains(number) else {
      let bounds = [range.lowerBound, range.upperBound].map { $0 == $0.rounded() ? "\(Int($0))" : "\($0)" }
      throw UsageError("--\(option) takes a number from \(bounds[0]) to \(bounds[1]), not '\(text)'")
    }
    return number
  }
}
