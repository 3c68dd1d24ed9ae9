/// A command line that is wrong.
package struct UsageError: Error, Sendable, Equatable {
  /// What is wrong and what to write instead, in one line without the program's name.
  package let message: String

  /// An error with its message.
  package init(_ message: String) { self.message = message }
}
