internal import Glibc

package struct ToolError: Error, Sendable, Equatable {
  /// The problem and the remedy, in one line without the program's name.
  var message: String
  var exit: ExitCode

  init(_ message: String, exit: ExitCode = .failed) {
    self.message = message
    self.exit = exit
  }

  /// The last call of the system failed.
  static func system(_ what: String) -> ToolError { ToolError("\(what): \(String(cString: strerror(errno)))") }
}
