import RuledCore
import RuledLua

/// The rules in force on one worker: the catalog, a VM for each plugin, and which plugins listen to which type.
final class WorkerPlugins {
  private(set) var catalog: Catalog
  /// The plugins in the catalog's order.
  private(set) var all: [WorkerPlugin]
  /// Records which lines of the rules run, where their tests ask for it.
  var coverage: Coverage?
  /// Has VMs record the costs of rules, of the events whose seed has no bit in common with this mask; nil for none.
  var costMask: UInt64?
  unowned(unsafe) var host: (any RuleHost)?

  /// The plugins on the other side of a rollout, nil while there is none.
  unowned(unsafe) var others: WorkerPlugins?

  private let lua: LuaWorker
  private var listeners = ListenerTable()

  init(_ catalog: Catalog, lua: LuaWorker) {
    self.catalog = catalog
    self.lua = lua
    all = catalog.plugins.enumerated().map { WorkerPlugin($0.element, index: $0.offset) }
  }

  /// Other rules for the same thread.
  convenience init(_ catalog: Catalog, sharing other: WorkerPlugins) { self.init(catalog, lua: other.lua) }

  /// Puts other rules in force; unchanged plugins keep their VMs, and others get the VMs of `others`, which run no more.
  func adopt(_ next: Catalog, reusing others: WorkerPlugins? = nil) {
    var vms: [UInt64: PluginVM] = [:]
    for plugin in others?.all ?? [] {
      guard let vm = plugin.vm, !vm.isDead else { continue }
      vm.host = host
      vms[plugin.loaded.generation] = vm
    }
    for plugin in all { if let vm = plugin.vm { vms[plugin.loaded.generation] = vm } }
    catalog = next
    all = next.plugins.enumerated().map { index, loaded in
      WorkerPlugin(loaded, index: index, vm: vms[loaded.generation])
    }
    for plugin in all { plugin.vm?.checkedTypes = next.checkedTypes }
    listeners = ListenerTable()
  }

  /// The plugin of that name, on either side of a rollout; nil if the rules in force do not have it.
  func plugin(named name: ByteView) -> WorkerPlugin? {
    let isNamed = { (plugin: WorkerPlugin) in ByteOrder.equal(plugin.loaded.nameBytes, name) }
    return all.first(where: isNamed) ?? others?.all.first(where: isNamed)
  }

  func listeners(to type: ByteView) -> Listeners { withListeners(to: type) { $0 } }

  /// Calls `body`, which asks for no others, with the listeners to a type; the table keeps them alive, so that no reference is counted.
  @inline(__always)
  func withListeners<Result>(to type: ByteView, _ body: (Listeners) -> Result) -> Result {
    let hash = hash64(type)
    let known =
      listeners.find(type, hash: hash) ?? listeners.insert(Listeners(to: type.text, hash: hash, in: catalog))
    return known._withUnsafeGuaranteedRef(body)
  }

  /// The plugin's VM; where there is none or it is dead, one that was built ahead, or else a new one.
  func vm(of plugin: WorkerPlugin) throws(Failure) -> PluginVM {
    if let vm = plugin.vm, !vm.isDead { return vm }
    let loaded = plugin.loaded
    let vm: PluginVM
    if coverage == nil, let ready = loaded.readyVMs.take(for: lua) {
      vm = ready
    } else {
      do throws(LoadError) {
        vm = try makeVM(loaded.source, loaded.overrides)
      } catch {
        throw Failure(plugin: loaded.name, kind: .error, message: error.message, file: error.file, line: error.line)
      }
    }
    install(vm, for: plugin)
    return vm
  }

  /// A VM of this thread that is nobody's yet.
  func makeVM(_ source: PluginSource, _ settings: JSONObject) throws(LoadError) -> PluginVM {
    try PluginVM(source: source, settings: settings, worker: lua, covering: coverage)
  }

  func install(_ vm: PluginVM, for plugin: WorkerPlugin) {
    vm.host = host
    vm.checkedTypes = catalog.checkedTypes
    if let costMask { vm.recordCosts(mask: costMask) }
    plugin.vm = vm
  }

  var zones: ZoneDatabase { lua.zones }

  /// Runs `body` on the thread of `other`, which may run the rules of this worker in there while this worker's own thread sleeps.
  func runOnThread(of other: WorkerPlugins, _ body: () -> Void) { lua.runOnThread(of: other.lua, body) }
}

final class Listeners {
  let type: [UInt8]
  let hash: UInt64
  /// The indices of the plugins, each with its rules in the order in which they run.
  let plugins: [(plugin: Int, rules: [Int])]
  /// The schemas for the data of such events; nil when nothing is to be checked.
  let schemas: EventSchemas?
  /// Whether only rules make such events.
  let isInternal: Bool

  init(to type: String, hash: UInt64, in catalog: Catalog) {
    self.type = Array(type.utf8)
    self.hash = hash
    plugins = catalog.listeners(to: type)
    schemas = catalog.schemas(of: type)
    isInternal = catalog.internalTypes.contains(type)
  }

  /// The rules of a plugin that listen, nil if it does not.
  func rules(of plugin: Int) -> [Int]? { plugins.first { $0.plugin == plugin }?.rules }
}

/// A cache of listeners with one slot for each hash: a type replaces the other types of its slot.
private struct ListenerTable {
  private static let slotCount = 4096

  private var slots: [Listeners?] = Array(repeating: nil, count: slotCount)

  /// The listeners of a type, if the cache has them; valid until the next `insert`.
  @_effects(releasenone)
  func find(_ type: ByteView, hash: UInt64) -> Unmanaged<Listeners>? {
    guard let known = slots[Self.slot(hash)], known.hash == hash, known.type.count == type.count else { return nil }
    return known.type.withView { ByteOrder.equal($0, type) } ? Unmanaged.passUnretained(known) : nil
  }

  mutating func insert(_ listeners: Listeners) -> Unmanaged<Listeners> {
    slots[Self.slot(listeners.hash)] = listeners
    return Unmanaged.passUnretained(listeners)
  }

  private static func slot(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (slotCount - 1) }
}
