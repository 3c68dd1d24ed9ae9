package import RuledCore
package import RuledLua
import Synchronization

/// Loads rules beside the running ones: a catalog comes whole or not at all.
package enum CatalogBuilder {
  private static let generations = Atomic<UInt64>(0)

  /// Builds the catalog of `source` with the configuration's settings; what did not change since `previous` is kept as it is.
  ///
  /// - Throws: every plugin that does not load, with file and line.
  package static func build(
    _ source: RulesSource, configuration: [String: Configuration.Plugin], previous: Catalog?, worker: LuaWorker,
    now: Timestamp
  ) throws(ReloadError) -> Catalog {
    var plugins: [Catalog.Plugin] = []
    var errors: [LoadError] = []
    for plugin in source.plugins {
      let settings = configuration[plugin.name] ?? Configuration.Plugin()
      guard settings.isEnabled else { continue }
      if let same = previous?.plugins.first(where: { isSame($0, plugin, settings.settings) }) {
        plugins.append(same)
        continue
      }
      do throws(LoadError) {
        let vm = try PluginVM(source: plugin, settings: settings.settings, worker: worker)
        plugins.append(
          Catalog.Plugin(
            source: plugin, overrides: settings.settings, manifest: vm.manifest,
            runtime: PluginRuntime(), generation: generations.wrappingAdd(1, ordering: .relaxed).newValue))
      } catch {
        errors.append(error)
      }
    }
    errors += claimedTwice(plugins)
    guard errors.isEmpty else { throw ReloadError(errors) }
    return Catalog(plugins: plugins, source: source, loadedAt: now, configuration: described(configuration))
  }

  /// Whether nothing that the plugin is made of has changed; the library counts only as far as it is required.
  private static func isSame(_ old: Catalog.Plugin, _ new: PluginSource, _ settings: JSONObject) -> Bool {
    old.name == new.name && old.source.modules == new.modules && old.source.data == new.data
      && old.overrides == settings
      && required(by: old.source) == required(by: new)
  }

  /// The library's files that the plugin's text names in a `require`, and those that they name.
  package static func required(by plugin: PluginSource) -> [SourceFile] {
    var found: Set<String> = []
    var texts = plugin.modules.map(\.text)
    while let text = texts.popLast() {
      let words = String(decoding: text, as: UTF8.self)
      for file in plugin.library where !found.contains(file.path) {
        let name = file.name.dropLast(4)
        if words.contains("\"\(name)\"") || words.contains("'\(name)'") || words.contains("[[\(name)]]") {
          found.insert(file.path)
          texts.append(file.text)
        }
      }
    }
    return plugin.library.filter { found.contains($0.path) }
  }

  private static func claimedTwice(_ plugins: [Catalog.Plugin]) -> [LoadError] {
    var owners: [String: String] = [:]
    var errors: [LoadError] = []
    for plugin in plugins {
      for host in plugin.manifest.hosts {
        if let owner = owners[host.name.lowercased()] {
          errors.append(
            LoadError(file: host.file, line: host.line, "the host '\(host.name)' is answered by \(owner) already"))
        }
        owners[host.name.lowercased()] = plugin.name
      }
    }
    return errors
  }

  private static func described(_ configuration: [String: Configuration.Plugin]) -> String {
    configuration.keys.sorted().map { name in
      let plugin = configuration[name] ?? Configuration.Plugin()
      return "\(name)=\(plugin.isEnabled)\(JSONValue.object(plugin.settings).text)"
    }.joined(separator: "\n")
  }
}
