internal import RuledCore
internal import RuledEngine
internal import RuledLua

extension RulesCheck {
  /// Finds what is wrong in a configuration file, the plugins, settings and sinks in it that do not exist, and the files, folders and
  /// accounts that this host does not have.
  mutating func check(configuration path: String) {
    let configuration: Configuration
    do throws(ConfigurationFileError) { configuration = try ConfigurationFile.load(path) } catch {
      for error in error.errors { add(error.file, error.line, error.message, .configuration) }
      return
    }
    add(configuration.unknownPlugins(known: plugins.map(\.name)), path)
    for plugin in plugins {
      checkSettings(configuration.plugins[plugin.name]?.settings ?? JSONObject(), of: plugin, path)
    }
    let sinks = manifests.count == plugins.count ? manifests.flatMap(\.sinks) : nil
    add(HostReview(configuration, sinks: sinks).problems, path)
  }

  private mutating func add(_ problems: [ConfigurationProblem], _ path: String) {
    // Several may be about one line, such as the list of administrators.
    found += problems.map { problem in
      Finding(
        file: path, line: ConfigurationFile.line(of: problem.path, in: path), message: problem.message,
        code: .configuration)
    }
  }

  private mutating func checkSettings(_ settings: JSONObject, of plugin: PluginSource, _ path: String) {
    guard !settings.isEmpty, manifests.contains(where: { $0.name == plugin.name }) else { return }
    do throws(LoadError) {
      add(try PluginVM(source: plugin, settings: settings, worker: worker).manifest.settingProblems, path)
    } catch {
      add(
        path, ConfigurationFile.line(of: ["plugins", plugin.name], in: path),
        "with these settings plugin '\(plugin.name)' does not load: \(error.description)", .configuration)
    }
  }
}
