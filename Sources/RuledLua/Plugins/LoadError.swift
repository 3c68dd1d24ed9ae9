/// Why a plugin or a configuration does not load, with file and line.
package struct LoadError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file relative to the rules folder; empty when it is no file's fault.
  package var file: String
  /// The line, 0 when it is not known.
  package var line: Int
  /// The error and the remedy.
  package var message: String

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
