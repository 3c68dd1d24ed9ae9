package import RuledCore
import RuledJSON
package import RuledLua
import Synchronization

/// The rules in force: one revision that never changes.
///
/// An event sees the same catalog from start to end.
package final class Catalog: Sendable {
  /// A plugin of the catalog.
  package final class Plugin: Sendable {
    package let source: PluginSource
    /// The settings of the configuration.
    package let overrides: JSONObject
    package let manifest: PluginManifest
    /// Its rules in the order in which they run.
    package let order: [Int]
    /// Its measurements.
    package let runtime: PluginRuntime
    /// VMs that were built ahead.
    package let readyVMs: ReadyVMs
    /// A number of these sources and settings: VMs of the same generation are interchangeable.
    package let generation: UInt64

    package var name: String { source.name }
    /// Its name as bytes, valid as long as the plugin.
    nonisolated(unsafe) let nameBytes: ByteView
    /// Its name as a JSON string, valid as long as the plugin.
    nonisolated(unsafe) let quotedName: ByteView
    /// Holds the bytes of both; never changes.
    private let text: ByteBuffer

    init(
      source: PluginSource, overrides: JSONObject, manifest: PluginManifest, runtime: PluginRuntime,
      readyVMs: ReadyVMs, generation: UInt64
    ) {
      self.source = source
      self.overrides = overrides
      self.manifest = manifest
      self.runtime = runtime
      self.readyVMs = readyVMs
      self.generation = generation
      order = manifest.order
      let name = source.name
      text = ByteBuffer(capacity: name.utf8.count * 8 + 2)
      text.append(contentsOf: name)
      let length = text.count
      text.append(jsonString: name)
      nameBytes = text.bytes.extracting(..<length)
      quotedName = text.bytes.extracting(length...)
    }
  }

  /// The plugins in order of name.
  package let plugins: [Plugin]
  /// The name of this state of the rules.
  package let revision: String
  package let loadedAt: Timestamp
  /// The files that it was built from.
  package let source: RulesSource
  /// What was configured for plugins, by name.
  package let configuration: [String: Configuration.Plugin]
  /// Whether a plugin declares events whose data is checked.
  let checksEvents: Bool
  /// `revision` as bytes, which never change.
  let revisionText: ByteBuffer

  init(
    plugins: [Plugin], source: RulesSource, loadedAt: Timestamp, configuration: [String: Configuration.Plugin]
  ) {
    self.plugins = plugins
    self.source = source
    self.loadedAt = loadedAt
    self.configuration = configuration
    checksEvents = plugins.contains { $0.manifest.events.contains(where: \.isChecked) }
    revision = Self.revision(of: source, configuration)
    revisionText = ByteBuffer(capacity: 16)
    revisionText.append(contentsOf: revision)
  }

  /// The name of rules with what is configured for their plugins.
  static func revision(of source: RulesSource, _ configuration: [String: Configuration.Plugin]) -> String {
    guard !configuration.isEmpty else { return source.revision }
    let described = configuration.keys.sorted().map { name in
      let plugin = configuration[name] ?? Configuration.Plugin()
      return "\(name)=\(plugin.isEnabled)\(JSONValue.object(plugin.settings).text)"
    }
    return String(SHA256.hash(source.revision + described.joined(separator: "\n")).hex.prefix(16))
  }

  /// The configured plugins and settings that do not exist, and settings of another kind than their default.
  package func problems(in configuration: Configuration) -> [ConfigurationProblem] {
    configuration.unknownPlugins(known: source.plugins.map(\.name)) + plugins.flatMap(\.manifest.settingProblems)
  }

  /// The plugins that have files but are disabled by the configuration, in order of name.
  var disabled: [String] {
    source.plugins.map(\.name).filter { configuration[$0]?.isEnabled == false }.sorted()
  }

  /// The index of the plugin of that name.
  package func index(of name: String) -> Int? { plugins.firstIndex { $0.name == name } }

  /// Whether there is a plugin of that name, given as bytes.
  package func has(plugin name: [UInt8]) -> Bool {
    name.withView { name in plugins.contains { ByteOrder.equal($0.nameBytes, name) } }
  }

  /// What the journal tells when these rules come into force: the revision, its sources' revision, the plugins, their settings as the configuration
  /// has them, and the rollout that they are part of, if any.
  func journalEvent(_ rollout: JSONValue?) -> JSONValue {
    let configured = plugins.filter { !$0.overrides.isEmpty }
    var data: JSONObject = [
      "revision": .string(revision), "source": .string(source.revision),
      "plugins": .array(plugins.map { .string($0.name) }),
      "settings": .object(
        JSONObject(configured.map { (name: $0.name, value: JSONValue.object($0.overrides)) })),
    ]
    data["rollout"] = rollout
    return .object(["type": .string("ruled.rules"), "data": .object(data)])
  }

  /// A query by its full name, `plugin.query`.
  package func query(_ name: String) -> (plugin: Int, query: Int)? {
    guard let dot = name.firstIndex(of: "."), let plugin = index(of: String(name[..<dot])) else { return nil }
    let queryName = String(name[name.index(after: dot)...])
    guard let query = plugins[plugin].manifest.queries.firstIndex(where: { $0.name == queryName }) else { return nil }
    return (plugin, query)
  }

  /// Whether a plugin answers for a host, given in lower case and without port.
  package func claims(host: String) -> Bool {
    plugins.contains { plugin in plugin.manifest.hosts.contains { $0.name.lowercased() == host } }
  }

  /// What the plugins declare about the data of an event type; nil when nothing is to be checked.
  package func schemas(of type: String) -> EventSchemas? {
    checksEvents ? EventSchemas(of: type, in: plugins.map(\.manifest)) : nil
  }

  /// The plugins that listen to an event type, each with its rules in the order in which they run.
  package func listeners(to type: String) -> [(plugin: Int, rules: [Int])] {
    plugins.indices.compactMap { index in
      let rules = plugins[index].order.filter { rule in
        plugins[index].manifest.rules[rule].on.contains { $0.matches(type) }
      }
      return rules.isEmpty ? nil : (index, rules)
    }
  }
}

/// Builds a catalog beside the one in force; all plugins load, or there is no catalog.
package enum CatalogBuilder {
  private static let generations = Atomic<UInt64>(0)

  /// The threads that will run the rules.
  ///
  /// VMs are built ahead for them.
  package struct Threads: Sendable {
    private let count: Int
    fileprivate let onTake: @Sendable () -> Void
    private let built: @Sendable () -> Void

    /// - Parameters:
    ///   - count: how many threads.
    ///   - built: called on the building thread after each VM of a slow plugin.
    ///   - onTake: called when a VM of a slow plugin was taken, so that `replenish` can build another.
    package init(
      _ count: Int, built: @escaping @Sendable () -> Void = {}, onTake: @escaping @Sendable () -> Void = {}
    ) {
      self.count = count
      self.built = built
      self.onTake = onTake
    }

    /// The calling thread alone, which builds VMs when it needs them.
    package static let one = Threads(1)

    /// Builds a VM for each slow plugin and thread, within a limited time.
    fileprivate func buildAhead(_ plugins: [Catalog.Plugin], _ worker: LuaWorker) {
      let end = EngineClock.monotonic + UInt64(Limits.aheadTime) * 1000
      for plugin in plugins where plugin.readyVMs.isSlow {
        built()
        while plugin.readyVMs.count < count, EngineClock.monotonic < end, plugin.addVM(worker) { built() }
      }
    }
  }

  /// Builds the catalog of `source` with the configuration's settings.
  ///
  /// Plugins that did not change since `previous` are taken from there.
  ///
  /// - Throws: the errors of all plugins that do not load, with file and line.
  package static func build(
    _ source: RulesSource, configuration: [String: Configuration.Plugin], previous: Catalog?, worker: LuaWorker,
    for threads: Threads = .one, now: Timestamp
  ) throws(ReloadError) -> Catalog {
    var plugins: [Catalog.Plugin] = []
    var changed: [Catalog.Plugin] = []
    var errors: [LoadError] = []
    for plugin in source.plugins {
      let settings = configuration[plugin.name] ?? Configuration.Plugin()
      guard settings.isEnabled else { continue }
      if let same = previous?.plugins.first(where: { isSame($0, plugin, settings.settings) }) {
        plugins.append(same)
        continue
      }
      do throws(LoadError) {
        let began = EngineClock.monotonic
        let vm = try PluginVM(source: plugin, settings: settings.settings, worker: worker)
        let isSlow = EngineClock.monotonic - began > UInt64(Limits.slowLoad) * 1000
        let loaded = Catalog.Plugin(
          source: plugin, overrides: settings.settings, manifest: vm.manifest, runtime: PluginRuntime(),
          readyVMs: ReadyVMs(isSlow: isSlow, onTake: threads.onTake),
          generation: generations.wrappingAdd(1, ordering: .relaxed).newValue)
        loaded.readyVMs.add(vm)
        plugins.append(loaded)
        changed.append(loaded)
      } catch {
        errors.append(error)
      }
    }
    errors += claimedTwice(plugins)
    guard errors.isEmpty else { throw ReloadError(errors) }
    threads.buildAhead(changed, worker)
    return Catalog(plugins: plugins, source: source, loadedAt: now, configuration: configuration)
  }

  /// Builds VMs ahead for all slow plugins of a catalog, whose threads will run it beside another one.
  package static func prepare(_ catalog: Catalog, worker: LuaWorker, for threads: Threads) {
    threads.buildAhead(catalog.plugins, worker)
  }

  /// Builds a VM for a slow plugin that has none ready; false when all have one.
  package static func replenish(_ catalog: Catalog, worker: LuaWorker) -> Bool {
    catalog.plugins.contains { $0.readyVMs.isSlow && $0.readyVMs.count == 0 && $0.addVM(worker) }
  }

  /// Whether the plugin's files and settings are the same.
  ///
  /// Of the library only the required files matter.
  private static func isSame(_ old: Catalog.Plugin, _ new: PluginSource, _ settings: JSONObject) -> Bool {
    old.overrides == settings && isSame(old.source, new)
  }

  /// Whether the plugin's files are the same, those of the library only as far as they are required.
  static func isSame(_ old: PluginSource, _ new: PluginSource) -> Bool {
    old.name == new.name && old.modules == new.modules && old.data == new.data
      && (old.library == new.library || required(by: old) == required(by: new))
  }

  /// The files of the library whose names are quoted in the plugin's text, and those quoted in these in turn.
  package static func required(by plugin: PluginSource) -> [SourceFile] {
    let byName = Dictionary(plugin.library.map { (Array($0.name.utf8.dropLast(4)), $0) }) { first, _ in first }
    var found: Set<String> = []
    var texts = plugin.library.isEmpty ? [] : plugin.modules.map(\.text)
    while let text = texts.popLast() {
      forEachQuoted(in: text) { name in
        guard let file = byName[Array(name)], found.insert(file.path).inserted else { return }
        texts.append(file.text)
      }
    }
    return plugin.library.filter { found.contains($0.path) }
  }

  /// Calls `body` with each text between two quotes, or between `[[` and `]`, that may be a file's name.
  private static func forEachQuoted(in text: [UInt8], _ body: (ArraySlice<UInt8>) -> Void) {
    for start in text.indices {
      let end: UInt8
      switch text[start] {
      case UInt8(ascii: "\""), UInt8(ascii: "'"): end = text[start]
      case UInt8(ascii: "[") where start > 0 && text[start - 1] == UInt8(ascii: "["): end = UInt8(ascii: "]")
      default: continue
      }
      let tail = text[(start + 1)...].prefix(256)
      if let length = tail.firstIndex(of: end) { body(tail[..<length]) }
    }
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
}

extension Catalog.Plugin {
  /// Builds another VM ahead; false when it does not load this time, as the time limit may be exceeded once.
  fileprivate func addVM(_ worker: LuaWorker) -> Bool {
    guard let vm = try? PluginVM(source: source, settings: overrides, worker: worker) else { return false }
    readyVMs.add(vm)
    return true
  }
}
