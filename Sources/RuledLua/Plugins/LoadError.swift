/// Why a plugin does not load, and where.
package struct LoadError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file relative to the rules folder; empty when no file is to blame.
  package var file: String
  /// The line, 0 when it isn't known.
  package var line: Int
  /// What is wrong and what to do about it.
  package var message: String

  /// An error at a place.
  package init(file: String, line: Int, _ message: String) {
    self.file = file
    self.line = line
    self.message = message
  }

  /// The error as `file:line: message`.
  package var description: String {
    if file.isEmpty { return message }
    return line > 0 ? "\(file):\(line): \(message)" : "\(file): \(message)"
  }
}
