/// Why a text is no URL, in a few words for the author of a rule.
package struct URLTextError: Error, Sendable, Equatable {
  /// What is wrong.
  package var message: String

  /// An error with its words.
  package init(_ message: String) { self.message = message }
}
