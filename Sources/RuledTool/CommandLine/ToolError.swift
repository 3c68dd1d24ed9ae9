/// Why a command ended early.
package struct ToolError: Error, Sendable, Equatable {
  /// What is wrong and what to do about it, in one line without the program's name.
  var message: String
  var exit: ExitCode

  /// An error that ends the program with `exit`.
  init(_ message: String, exit: ExitCode = .failed) {
    self.message = message
    self.exit = exit
  }
}
