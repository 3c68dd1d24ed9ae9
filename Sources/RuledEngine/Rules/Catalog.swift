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

/// Machines of a plugin that were built ahead, for the threads that run its rules: to build one there would hold up all that they serve.
package final class ReadyVMs: Sendable {
  /// A machine that is no thread's.
  private struct Machine: @unchecked Sendable {  // no thread uses it while it lies here
    let vm: PluginVM
  }

  /// Whether the plugin takes so long to load that machines are worth building ahead.
  package let isSlow: Bool
  private let machines = Mutex<[Machine]>([])
  private let taken: @Sendable () -> Void

  /// No machines yet; `taken` is called whenever one of a slow plugin was taken.
  package init(isSlow: Bool, taken: @escaping @Sendable () -> Void) {
    self.isSlow = isSlow
    self.taken = taken
  }

  /// How many lie ready.
  package var count: Int { machines.withLock { $0.count } }

  /// Adds a machine, which the calling thread must not use any more.
  package func add(_ vm: PluginVM) {
    vm.leaveThread()
    let machine = Machine(vm: vm)
    machines.withLock { $0.append(machine) }
  }

  /// Takes a machine for the calling thread, whose worker that is; nil when none lies ready.
  package func take(for worker: LuaWorker) -> PluginVM? {
    guard let machine = machines.withLock({ $0.popLast() }) else { return nil }
    machine.vm.move(to: worker)
    if isSlow { taken() }
    return machine.vm
  }
}
