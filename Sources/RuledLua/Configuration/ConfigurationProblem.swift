/// A problem of the configuration with its rules and its host.
package struct ConfigurationProblem: Sendable {
  /// The path of its key, as in `["plugins", "greeter"]`.
  package let path: [String]
  /// The problem and the remedy.
  package let message: String
  /// Whether it is a bad setting, for which the plugin's own is in force.
  package let isBadSetting: Bool

  package init(path: [String], message: String, isBadSetting: Bool = false) {
    self.path = path
    self.message = message
    self.isBadSetting = isBadSetting
  }
}
