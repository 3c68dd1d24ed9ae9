/// What a person wrote after a command's name, taken apart.
package struct Arguments: Sendable, Equatable {
  /// The words that are no options, in order.
  package var operands: [String] = []
  /// What was given for each option, in order; an option without a value counts as an empty one.
  package var values: [String: [String]] = [:]

  /// Nothing given.
  package init() {}

  /// Whether the option was given.
  package func has(_ option: String) -> Bool { values[option] != nil }

  /// The option's value, the last one if it was given more than once.
  package func value(_ option: String) -> String? { values[option]?.last }

  /// The operand at `index`, if that many were given.
  package func operand(_ index: Int) -> String? { index < operands.count ? operands[index] : nil }

  /// The option's value as a whole number.
  ///
  /// - Parameters:
  ///   - option: The long name.
  ///   - range: What is allowed.
  /// - Returns: The number, or nil when the option was not given.
  /// - Throws: When it is no such number.
  package func integer(_ option: String, in range: ClosedRange<Int>) throws(ToolError) -> Int? {
    guard let text = value(option) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw ToolError("--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }
    return number
  }

  /// The option's values, split at commas.
  package func list(_ option: String) -> [String] {
    (values[option] ?? []).flatMap { $0.split(separator: ",").map(String.init) }
  }
}
