package struct ConfigurationError: Sendable, Equatable, CustomStringConvertible {
  /// The key's path from the top, as in `["limits", "connections"]`.
  package var path: [String]
  /// The error and the expected value, without the path.
  var message: String

  package var description: String { path.isEmpty ? message : "\(path.joined(separator: ".")): \(message)" }
}

/// All errors in a configuration, in the order of its keys.
package struct ConfigurationErrors: Error, Sendable, Equatable {
  /// The errors; one or more.
  package var errors: [ConfigurationError]

  init(_ errors: [ConfigurationError]) { self.errors = errors }
}
