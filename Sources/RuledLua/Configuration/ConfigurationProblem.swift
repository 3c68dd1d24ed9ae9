/// What is wrong with the configuration, by the rules and the host that it is for.
package struct ConfigurationProblem: Sendable {
  /// The path of its key, as in `["plugins", "greeter"]`.
  package let path: [String]
  /// What is wrong and what to do.
  package let message: String

  /// A problem at a path.
  package init(path: [String], message: String) {
    self.path = path
    self.message = message
  }
}
