package import RuledCore
package import RuledLua
import Synchronization

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
    static let one = Threads(1)

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
  /// Plugins that did not change since `previous` are taken from there. With `checksFiles` all files are checked, also those that nothing
  /// requires; rules that were in force before have passed the checks of their time. `coverage` records what runs, such as checks of settings.
  ///
  /// - Throws: the errors of all plugins that do not load, with file and line.
  package static func build(
    _ source: RulesSource, configuration: [String: Configuration.Plugin], previous: Catalog?, worker: LuaWorker,
    for threads: Threads = .one, checksFiles: Bool = false, covering coverage: Coverage? = nil, now: Timestamp
  ) throws(ReloadError) -> Catalog {
    var plugins: [Catalog.Plugin] = []
    var changed: [Catalog.Plugin] = []
    let inspector = checksFiles ? SourceInspector(worker: worker) : nil
    var errors = inspector.map { check(libraryOf: source, besides: previous?.source, $0) } ?? []
    for plugin in source.plugins {
      let configured = configuration[plugin.name] ?? Configuration.Plugin()
      guard configured.isEnabled else { continue }
      let isConfiguredAlike = (previous?.configuration[plugin.name] ?? Configuration.Plugin()) == configured
      if isConfiguredAlike, let same = previous?.plugins.first(where: { isSame($0.source, plugin) }) {
        plugins.append(same)
        continue
      }
      do throws(LoadError) {
        let began = EngineClock.monotonic
        let vm = try PluginVM.load(plugin, configured, worker: worker, covering: coverage)
        let isSlow = EngineClock.monotonic - began > UInt64(Limits.slowLoad) * 1000
        let loaded = Catalog.Plugin(
          source: plugin, manifest: vm.manifest, runtime: PluginRuntime(),
          readyVMs: ReadyVMs(isSlow: isSlow, onTake: threads.onTake),
          generation: generations.wrappingAdd(1, ordering: .relaxed).newValue,
          digest: Catalog.revision(
            of: RulesSource(plugins: [plugin.with(library: required(by: plugin))]), [plugin.name: configured]))
        if coverage == nil { loaded.readyVMs.add(vm) }
        if let inspector { errors += check(plugin, required: vm.manifest.required, inspector) }
        plugins.append(loaded)
        changed.append(loaded)
      } catch {
        // A broken file of the library is one error, however many plugins require it.
        if !errors.contains(error) { errors.append(error) }
      }
    }
    errors += claimedTwice(plugins)
    errors += EventDeclaration.disagreements(in: plugins.map(\.manifest))
    guard errors.isEmpty else { throw ReloadError(errors) }
    threads.buildAhead(changed, worker)
    return Catalog(plugins: plugins, source: source, loadedAt: now, configuration: configuration)
  }

  /// The errors in a plugin that loads: in files that nothing requires, and names of files that are not there.
  private static func check(
    _ plugin: PluginSource, required: Set<String>, _ inspector: SourceInspector
  ) -> [LoadError] {
    var errors: [LoadError] = []
    for file in plugin.modules {
      do throws(LoadError) { errors += try inspector.missingFiles(in: file, of: plugin, required: required) } catch {
        errors.append(error)
      }
    }
    for file in Self.required(by: plugin) {
      errors += (try? inspector.missingFiles(in: file, of: plugin, required: required)) ?? []
    }
    return errors
  }

  /// The errors in the library, if it is not that of `previous`.
  private static func check(
    libraryOf source: RulesSource, besides previous: RulesSource?, _ inspector: SourceInspector
  ) -> [LoadError] {
    let library = source.plugins.first?.library ?? []
    guard library != previous?.plugins.first?.library else { return [] }
    return library.compactMap { file in
      do throws(LoadError) { _ = try inspector.uses(in: file) } catch { return error }
      return nil
    }
  }

  /// Builds VMs ahead for all slow plugins of a catalog, whose threads will run it beside another one.
  package static func prepare(_ catalog: Catalog, worker: LuaWorker, for threads: Threads) {
    threads.buildAhead(catalog.plugins, worker)
  }

  /// Builds a VM for a slow plugin that has fewer ready than one stopped event costs: that of its run without a count, and that of the one with it;
  /// false when all have these.
  package static func replenish(_ catalog: Catalog, worker: LuaWorker) -> Bool {
    catalog.plugins.contains { $0.readyVMs.isSlow && $0.readyVMs.count < 2 && $0.addVM(worker) }
  }

  /// Whether the plugin's files are the same, those of the library only as far as they are required.
  static func isSame(_ old: PluginSource, _ new: PluginSource) -> Bool {
    old.name == new.name && old.modules == new.modules && old.data == new.data
      && (old.library == new.library || required(by: old, andTests: true) == required(by: new, andTests: true))
  }

  /// The library's files whose names the plugin or its tests quote, and those that these files quote in turn.
  package static func required(by plugin: PluginSource, andTests: Bool = false) -> [SourceFile] {
    let byName = Dictionary(plugin.library.map { (Array($0.name.utf8.dropLast(4)), $0) }) { first, _ in first }
    var found: Set<String> = []
    let files = plugin.modules + (andTests ? plugin.tests : [])
    var texts = plugin.library.isEmpty ? [] : files.map(\.text)
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
        if let owner = owners[host.name] {
          errors.append(
            LoadError(file: host.file, line: host.line, "the host '\(host.name)' is answered by \(owner) already"))
        }
        owners[host.name] = plugin.name
      }
    }
    return errors
  }
}
