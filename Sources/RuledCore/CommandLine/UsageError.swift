package struct UsageError: Error, Sendable, Equatable {
  /// The mistake and its remedy, in one line without the program's name.
  package let message: String

  package init(_ message: String) { self.message = message }
}
