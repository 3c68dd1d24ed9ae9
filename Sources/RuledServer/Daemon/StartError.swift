/// Why the daemon does not start: one sentence that says what to do.
package struct StartError: Error, CustomStringConvertible {
  /// The sentence.
  package let description: String
  /// Whether it is what a check looks for, and not a reason why none is possible.
  let isFinding: Bool

  /// A reason.
  package init(_ description: String) { self.init(description, isFinding: false) }

  init(_ description: String, isFinding: Bool) {
    self.description = description
    self.isFinding = isFinding
  }
}
