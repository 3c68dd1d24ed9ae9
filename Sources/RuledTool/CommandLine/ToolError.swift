/// Why a command ended early: the line that goes to standard error, and the exit code.
package struct ToolError: Error, Sendable, Equatable {
  /// What is wrong and what to do about it, without the program's name before it.
  package var message: String
  /// What the program ends with.
  package var exit: ExitCode

  /// An error that ends the program with `exit`.
  package init(_ message: String, exit: ExitCode = .failed) {
    self.message = message
    self.exit = exit
  }
}
