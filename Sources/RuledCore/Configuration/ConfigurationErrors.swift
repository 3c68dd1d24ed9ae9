/// All that is wrong in a configuration, in the order of its keys.
package struct ConfigurationErrors: Error, Sendable, Equatable {
  /// The errors; one or more.
  package var errors: [ConfigurationError]

  /// A list of errors.
  package init(_ errors: [ConfigurationError]) { self.errors = errors }
}
