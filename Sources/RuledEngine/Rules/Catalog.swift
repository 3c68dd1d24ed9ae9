package import RuledCore
package import RuledLua
import Synchronization

/// The rules in force: one revision, whole and unchanging, which an event sees from start to end.
package final class Catalog: Sendable {
  /// A plugin of the catalog.
  package final class Plugin: Sendable {
    /// Its files.
    package let source: PluginSource
    /// What the configuration sets.
    package let overrides: JSONObject
    /// What it declared.
    package let manifest: PluginManifest
    /// Its rules in the order in which they run.
    package let order: [Int]
    /// What is measured of it.
    package let runtime: PluginRuntime
    /// Machines that were built ahead.
    package let readyVMs: ReadyVMs
    /// Tells machines built from these sources from those of another revision.
    package let generation: UInt64

    /// Its name.
    package var name: String { source.name }
    /// Its name as bytes, valid as long as the plugin.
    nonisolated(unsafe) let nameBytes: UnsafeRawBufferPointer
    /// Its name as a JSON string, valid as long as the plugin.
    nonisolated(unsafe) let quotedName: UnsafeRawBufferPointer
    /// Holds the bytes of both, which never change.
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
      nameBytes = UnsafeRawBufferPointer(rebasing: text.bytes[..<length])
      quotedName = UnsafeRawBufferPointer(rebasing: text.bytes[length...])
    }
  }

  /// The plugins in order of name.
  package let plugins: [Plugin]
  /// What names this state of the rules.
  package let revision: String
  /// When it was loaded.
  package let loadedAt: Timestamp
  /// What it was made of.
  package let source: RulesSource
  /// `revision` as bytes, which never change.
  let revisionText: ByteBuffer

  init(plugins: [Plugin], source: RulesSource, loadedAt: Timestamp, configuration: String) {
    self.plugins = plugins
    self.source = source
    self.loadedAt = loadedAt
    revision =
      configuration.isEmpty ? source.revision : String(SHA256.hash(source.revision + configuration).hex.prefix(16))
    revisionText = ByteBuffer(capacity: 16)
    revisionText.append(contentsOf: revision)
  }

  /// The index of the plugin of that name.
  package func index(of name: String) -> Int? { plugins.firstIndex { $0.name == name } }

  /// A query by its full name, `plugin.query`.
  package func query(_ name: String) -> (plugin: Int, query: Int)? {
    guard let dot = name.firstIndex(of: "."), let plugin = index(of: String(name[..<dot])) else { return nil }
    let rest = String(name[name.index(after: dot)...])
    guard let query = plugins[plugin].manifest.queries.firstIndex(where: { $0.name == rest }) else { return nil }
    return (plugin, query)
  }

  /// Whether a plugin answers for a host, which is in lower case and without port.
  package func claims(host: String) -> Bool {
    plugins.contains { plugin in plugin.manifest.hosts.contains { $0.name.lowercased() == host } }
  }

  /// Which plugins hear an event type, and with which of their rules, in the order in which they run.
  package func listeners(to type: String) -> [(plugin: Int, rules: [Int])] {
    plugins.indices.compactMap { index in
      let rules = plugins[index].order.filter { rule in
        plugins[index].manifest.rules[rule].on.contains { $0.matches(type) }
      }
      return rules.isEmpty ? nil : (index, rules)
    }
  }
}

/// Loads rules beside the running ones: a catalog comes whole or not at all.
package enum CatalogBuilder {
  private static let generations = Atomic<UInt64>(0)

  /// The threads that will run the rules, for which machines are built ahead.
  package struct Threads: Sendable {
    private let count: Int
    fileprivate let taken: @Sendable () -> Void
    private let built: @Sendable () -> Void

    /// So many threads.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - built: Called on the thread that builds, after each machine that took long.
    ///   - taken: Called when a machine that took long was taken, so that another can be built: `replenish`.
    package init(
      _ count: Int, built: @escaping @Sendable () -> Void = {}, taken: @escaping @Sendable () -> Void = {}
    ) {
      self.count = count
      self.built = built
      self.taken = taken
    }

    /// The calling thread alone, which builds what it needs when it needs it.
    package static let one = Threads(1)

    /// Has each slow plugin have a machine ready for each thread, as far as that takes no longer than it may.
    fileprivate func buildAhead(_ plugins: [Catalog.Plugin], _ worker: LuaWorker) {
      let end = EngineClock.monotonic + UInt64(Limits.aheadTime) * 1000
      for plugin in plugins where plugin.readyVMs.isSlow {
        built()
        while plugin.readyVMs.count < count, EngineClock.monotonic < end, plugin.addVM(worker) { built() }
      }
    }
  }

  /// Builds the catalog of `source` with the configuration's settings; what did not change since `previous` is kept as it is.
  ///
  /// - Throws: every plugin that does not load, with file and line.
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
          readyVMs: ReadyVMs(isSlow: isSlow, taken: threads.taken),
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
    return Catalog(plugins: plugins, source: source, loadedAt: now, configuration: described(configuration))
  }

  /// Builds a machine for a slow plugin that has none ready, for a thread that loses its own; false when none is needed.
  package static func replenish(_ catalog: Catalog, worker: LuaWorker) -> Bool {
    catalog.plugins.contains { $0.readyVMs.isSlow && $0.readyVMs.count == 0 && $0.addVM(worker) }
  }

  /// Whether nothing that the plugin is made of has changed; the library counts only as far as it is required.
  private static func isSame(_ old: Catalog.Plugin, _ new: PluginSource, _ settings: JSONObject) -> Bool {
    old.name == new.name && old.source.modules == new.modules && old.source.data == new.data
      && old.overrides == settings
      && (old.source.library == new.library || required(by: old.source) == required(by: new))
  }

  /// The library's files that the plugin's text names in a `require`, and those that they name.
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

  /// Calls `body` with whatever stands between two quotes, or the first two of `[[` and `]`, and may be a file's name.
  private static func forEachQuoted(in text: [UInt8], _ body: (ArraySlice<UInt8>) -> Void) {
    for start in text.indices {
      let end: UInt8
      switch text[start] {
      case UInt8(ascii: "\""), UInt8(ascii: "'"): end = text[start]
      case UInt8(ascii: "[") where start > 0 && text[start - 1] == UInt8(ascii: "["): end = UInt8(ascii: "]")
      default: continue
      }
      let rest = text[(start + 1)...].prefix(256)
      if let length = rest.firstIndex(of: end) { body(rest[..<length]) }
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

  private static func described(_ configuration: [String: Configuration.Plugin]) -> String {
    configuration.keys.sorted().map { name in
      let plugin = configuration[name] ?? Configuration.Plugin()
      return "\(name)=\(plugin.isEnabled)\(JSONValue.object(plugin.settings).text)"
    }.joined(separator: "\n")
  }
}

extension Catalog.Plugin {
  /// Builds another machine ahead; false when it does not load this time, as one that takes all the time it may.
  fileprivate func addVM(_ worker: LuaWorker) -> Bool {
    guard let vm = try? PluginVM(source: source, settings: overrides, worker: worker) else { return false }
    readyVMs.add(vm)
    return true
  }
}
