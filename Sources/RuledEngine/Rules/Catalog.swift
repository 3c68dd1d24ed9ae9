package import RuledCore
import RuledJSON
package import RuledLua

/// The rules in force: one revision that never changes.
///
/// An event sees the same catalog from start to end.
package final class Catalog: Sendable {
  package final class Plugin: Sendable {
    package let source: PluginSource
    package let manifest: PluginManifest
    /// Its rules in the order in which they run.
    package let order: [Int]
    package let runtime: PluginRuntime
    package let readyVMs: ReadyVMs
    /// A number of its sources and settings: VMs of the same generation are interchangeable.
    package let generation: UInt64
    /// The first 16 hexadecimal digits of the hash of its sources and settings.
    package let digest: String
    let stateVersion: Int

    package var name: String { source.name }
    /// The settings of the configuration that are in force.
    package var overrides: JSONObject { manifest.overrides }
    /// Its name as bytes, valid as long as the plugin.
    nonisolated(unsafe) let nameBytes: ByteView
    /// Its name as a JSON string, valid as long as the plugin.
    nonisolated(unsafe) let quotedName: ByteView
    /// Holds the bytes of both; never changes.
    private let text: ByteBuffer

    init(
      source: PluginSource, manifest: PluginManifest, runtime: PluginRuntime, readyVMs: ReadyVMs, generation: UInt64,
      digest: String
    ) {
      self.source = source
      self.manifest = manifest
      self.runtime = runtime
      self.readyVMs = readyVMs
      self.generation = generation
      self.digest = digest
      order = manifest.order
      stateVersion = manifest.stateVersion
      let name = source.name
      text = ByteBuffer(capacity: name.utf8.count * 8 + 2)
      text.append(contentsOf: name)
      let length = text.count
      text.append(jsonString: name)
      nameBytes = text.bytes.extracting(..<length)
      quotedName = text.bytes.extracting(length...)
    }

    /// A worker's own, whose references other threads don't count: a count that threads share passes from processor to processor.
    convenience init(copying other: Plugin) {
      self.init(
        source: other.source, manifest: other.manifest, runtime: other.runtime, readyVMs: other.readyVMs,
        generation: other.generation, digest: other.digest)
    }
  }

  /// The plugins in order of name.
  package let plugins: [Plugin]
  /// The name of this state of the rules.
  package let revision: String
  package let loadedAt: Timestamp
  package let source: RulesSource
  package let configuration: [String: Configuration.Plugin]
  /// The types of events whose data is checked.
  let checkedTypes: [String]
  /// The types of events that only rules make.
  package let internalTypes: Set<String>
  /// The sinks that effects reach without their subject, unless the configuration says otherwise.
  package let anonymousSinks: Set<String>
  /// Whether a plugin's states have another version than 1.
  let hasStateVersions: Bool
  /// `revision` as bytes, which never change.
  let revisionText: ByteBuffer

  init(plugins: [Plugin], source: RulesSource, loadedAt: Timestamp, configuration: [String: Configuration.Plugin]) {
    self.plugins = plugins
    self.source = source
    self.loadedAt = loadedAt
    self.configuration = configuration
    internalTypes = Set(plugins.flatMap(\.manifest.events).filter(\.isInternal).map(\.type))
    anonymousSinks = Set(plugins.flatMap(\.manifest.anonymousSinks).map(\.name))
    checkedTypes = plugins.flatMap(\.manifest.events).filter(\.isChecked).map(\.type)
    hasStateVersions = plugins.contains { $0.stateVersion != 1 }
    revision = Self.revision(of: source, configuration)
    revisionText = ByteBuffer(capacity: 16)
    revisionText.append(contentsOf: revision)
  }

  /// The name of rules together with the configuration of their plugins.
  static func revision(of source: RulesSource, _ configuration: [String: Configuration.Plugin]) -> String {
    guard !configuration.isEmpty else { return source.revision }
    let described = configuration.keys.sorted().map { name in
      let plugin = configuration[name] ?? Configuration.Plugin()
      let sources = plugin.sources.map { JSONValue.array($0.map { .string($0) }).text } ?? ""
      return "\(name)=\(plugin.isEnabled)\(sources)\(JSONValue.object(plugin.settings).text)"
    }
    return String(SHA256.hash(source.revision + described.joined(separator: "\n")).hex.prefix(16))
  }

  /// The configured plugins, settings and types of events that do not exist, and settings that are not as their plugin declares.
  package func problems(in configuration: Configuration) -> [ConfigurationProblem] {
    let manifests = plugins.map(\.manifest), types = manifests.flatMap(\.events).map(\.type)
    return configuration.unknownPlugins(known: source.plugins.map(\.name), manifests)
      + manifests.flatMap { $0.settingProblems + $0.misspeltTypes(known: types) }
  }

  /// The settings of the configuration that are not as their plugin declares, so that the plugin's own are in force.
  package var badSettings: [ConfigurationProblem] {
    plugins.flatMap(\.manifest.settingProblems).filter(\.isBadSetting)
  }

  /// The plugins that have files but are disabled by the configuration, in order of name.
  var disabled: [String] {
    source.plugins.map(\.name).filter { configuration[$0]?.isEnabled == false }.sorted()
  }

  package func plugin(_ name: String) -> Plugin? { plugins.first { $0.name == name } }

  /// The names of the plugins that other rules had not, or in another form.
  package func pluginsChanged(since previous: Catalog) -> Set<String> {
    Set(plugins.lazy.filter { previous.plugin($0.name)?.digest != $0.digest }.map(\.name))
  }

  package func index(of name: String) -> Int? { plugins.firstIndex { $0.name == name } }

  package func has(plugin name: [UInt8]) -> Bool {
    name.withView { name in plugins.contains { ByteOrder.equal($0.nameBytes, name) } }
  }

  /// The journal's entry for these rules when they come into force: the revision, its sources' revision, the plugins, the settings that the
  /// configuration sets, and the rollout that they are part of, if any.
  func journalEvent(_ rollout: JSONValue?) -> JSONValue {
    let configured = plugins.filter { !$0.overrides.isEmpty }
    return [
      "type": "ruled.rules",
      "data": .members([
        "revision": .string(revision), "source": .string(source.revision),
        "plugins": .array(plugins.map { .string($0.name) }),
        "settings": .object(JSONObject(configured.map { (name: $0.name, value: JSONValue.object($0.overrides)) })),
        "rollout": rollout,
      ]),
    ]
  }

  /// A query by its full name, `plugin.query`.
  package func query(_ name: String) -> (plugin: Int, query: Int)? {
    guard let dot = name.firstIndex(of: "."), let plugin = index(of: String(name[..<dot])) else { return nil }
    let queryName = String(name[name.index(after: dot)...])
    guard let query = plugins[plugin].manifest.queries.firstIndex(where: { $0.name == queryName }) else { return nil }
    return (plugin, query)
  }

  /// Whether a plugin answers for a host, given as `HostName.normalized` has it.
  package func claims(host: String) -> Bool {
    plugins.contains { plugin in plugin.manifest.hosts.contains { $0.name == host } }
  }

  /// The plugins' schemas for the data of an event type; nil when nothing is to be checked.
  func schemas(of type: String) -> EventSchemas? {
    checkedTypes.isEmpty ? nil : EventSchemas(of: type, in: plugins.map(\.manifest))
  }

  /// The plugins that listen to an event type, each with its rules in the order in which they run.
  func listeners(to type: String) -> [(plugin: Int, rules: [Int])] {
    plugins.indices.compactMap { index in
      let rules = plugins[index].order.filter { rule in
        plugins[index].manifest.rules[rule].on.contains { $0.matches(type) }
      }
      return rules.isEmpty ? nil : (index, rules)
    }
  }
}

extension Catalog.Plugin {
  /// Builds another VM ahead; false when it does not load this time, as the time limit may be exceeded once.
  func addVM(_ worker: LuaWorker) -> Bool {
    guard let vm = try? PluginVM(source: source, settings: overrides, worker: worker) else { return false }
    readyVMs.add(vm)
    return true
  }
}
