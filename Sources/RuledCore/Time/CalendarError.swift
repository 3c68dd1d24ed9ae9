/// Why a civil date could not be computed, in a sentence for the author of the rule.
package struct CalendarError: Error, Sendable, Equatable {
  /// What is wrong.
  package var message: String

  /// An error with its sentence.
  package init(_ message: String) { self.message = message }
}
