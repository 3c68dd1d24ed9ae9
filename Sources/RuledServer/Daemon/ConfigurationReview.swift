import RuledCore
import RuledEngine
import RuledLua

/// Looks for names in the configuration that mean nothing beside the rules that are loaded.
enum ConfigurationReview {
  /// A name that means nothing.
  struct Problem {
    /// Where it stands in the configuration.
    let path: [String]
    /// What is wrong with it.
    let message: String
  }

  /// The plugins and settings that are not there.
  static func problems(_ configuration: Configuration, _ catalog: Catalog) -> [Problem] {
    let names = catalog.source.plugins.map(\.name)
    var problems: [Problem] = []
    for name in configuration.plugins.keys.sorted() where !names.contains(name) {
      problems.append(
        Problem(
          path: ["plugins", name],
          message: "the configuration names a plugin '\(name)' that does not exist\(meant(name, names))"))
    }
    for plugin in catalog.plugins {
      let manifest = plugin.manifest
      let known = manifest.settings.names.filter { !manifest.unknownSettings.contains($0) }
      for name in manifest.unknownSettings {
        problems.append(
          Problem(
            path: ["plugins", plugin.name, name],
            message:
              "the configuration sets '\(name)', which the plugin '\(plugin.name)' does not declare\(meant(name, known))"
          ))
      }
    }
    return problems
  }

  /// Logs what is configured and means nothing.
  static func warn(
    _ log: any EventLog, _ configuration: Configuration, _ admins: Administrators, _ catalog: Catalog
  ) {
    for problem in problems(configuration, catalog) { log.write(LogLine(.warn, problem.message)) }
    for name in admins.unknown {
      let kind = name.hasPrefix("@") ? "group" : "user"
      log.write(LogLine(.warn, "the configuration's admins name a \(kind) '\(name)' that this host does not know"))
    }
  }

  private static func meant(_ name: String, _ known: [String]) -> String {
    NearestName.find(name, in: known).map { "; did you mean '\($0)'?" } ?? ""
  }
}
