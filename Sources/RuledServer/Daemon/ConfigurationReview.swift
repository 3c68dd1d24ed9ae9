import RuledCore
import RuledEngine
import RuledLua

/// Finds names in the configuration that the loaded rules and this host do not know.
enum ConfigurationReview {
  /// An unknown name.
  struct Problem {
    /// The path of its key in the configuration.
    let path: [String]
    /// One sentence for a person.
    let message: String
  }

  /// The configured plugins and settings that do not exist.
  static func problems(_ configuration: Configuration, _ catalog: Catalog) -> [Problem] {
    let names = catalog.source.plugins.map(\.name)
    var problems: [Problem] = []
    for name in configuration.plugins.keys.sorted() where !names.contains(name) {
      problems.append(
        Problem(
          path: ["plugins", name],
          message: "the configuration names a plugin '\(name)' that does not exist\(suggestion(name, names))"))
    }
    for plugin in catalog.plugins {
      let manifest = plugin.manifest
      let known = manifest.settings.names.filter { !manifest.unknownSettings.contains($0) }
      for name in manifest.unknownSettings {
        problems.append(
          Problem(
            path: ["plugins", plugin.name, name],
            message:
              "the configuration sets '\(name)', which the plugin '\(plugin.name)' does not declare\(suggestion(name, known))"
          ))
      }
    }
    return problems
  }

  /// Logs the unknown names.
  static func warn(
    _ log: any EventLog, _ configuration: Configuration, _ admins: Administrators, _ catalog: Catalog
  ) {
    for problem in problems(configuration, catalog) { log.write(LogLine(.warn, problem.message)) }
    for name in admins.unknown {
      let kind = name.hasPrefix("@") ? "group" : "user"
      log.write(LogLine(.warn, "the configuration's admins name a \(kind) '\(name)' that this host does not know"))
    }
  }

  private static func suggestion(_ name: String, _ known: [String]) -> String {
    NearestName.find(name, in: known).map { "; did you mean '\($0)'?" } ?? ""
  }
}
