package import RuledCore
package import RuledLua
import Synchronization

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
