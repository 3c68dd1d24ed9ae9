internal import RuledCore
internal import RuledEngine
internal import RuledLua

extension RulesCheck {
  /// Checks a configuration file, and that the plugins, settings and sinks that it names are there.
  mutating func check(configuration path: String) {
    let configuration: Configuration
    do throws(ConfigurationFileError) { configuration = try ConfigurationFile.load(path) } catch {
      for error in error.errors { add(error.file, error.line, error.message) }
      return
    }
    for name in configuration.plugins.keys.sorted() {
      guard let plugin = plugins.first(where: { $0.name == name }) else {
        let meant = Self.meant(name, plugins.map(\.name))
        add(path, ConfigurationFile.line(of: ["plugins", name], in: path), "there is no plugin '\(name)'\(meant)")
        continue
      }
      checkSettings(configuration.plugins[name]?.settings ?? JSONObject(), of: plugin, path)
    }
    let sinks = manifests.flatMap(\.sinks)
    for name in configuration.sinks.keys.sorted() where !sinks.contains(name) {
      let line = ConfigurationFile.line(of: ["sinks", name], in: path)
      add(path, line, "no plugin has a sink '\(name)'\(Self.meant(name, sinks))")
    }
  }

  private mutating func checkSettings(_ settings: JSONObject, of plugin: PluginSource, _ path: String) {
    guard !settings.isEmpty, manifests.contains(where: { $0.name == plugin.name }) else { return }
    do throws(RuledLua.LoadError) {
      let manifest = try PluginVM(source: plugin, settings: settings, worker: worker).manifest
      let known = manifest.settings.names.filter { !manifest.unknownSettings.contains($0) }
      for name in manifest.unknownSettings {
        let line = ConfigurationFile.line(of: ["plugins", plugin.name, name], in: path)
        add(path, line, "plugin '\(plugin.name)' has no setting '\(name)'\(Self.meant(name, known))")
      }
    } catch {
      add(
        path, ConfigurationFile.line(of: ["plugins", plugin.name], in: path),
        "with these settings plugin '\(plugin.name)' does not load: \(error.description)")
    }
  }
}
