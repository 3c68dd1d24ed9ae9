/// Why the daemon does not start: one sentence that says what to do.
package struct StartError: Error, CustomStringConvertible {
  /// The sentence.
  package let description: String

  /// A reason.
  package init(_ description: String) { self.description = description }
}
