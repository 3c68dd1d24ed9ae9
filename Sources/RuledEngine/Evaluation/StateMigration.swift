import RuledCore
import RuledJSON
import RuledLua
import RuledStore

/// Brings states from rules of another version to the version of the rules in force.
///
/// Steps run in VMs of their own: a running rule that peeks at such a state is not disturbed. It belongs to one worker.
final class StateMigration {
  /// How many VMs are kept.
  private static let most = 64

  /// A migration's share of the plugin's budget.
  typealias Cost = (instructions: Int, microseconds: Int64)

  /// The factor by which its steps may exceed the processor time of a plugin's budget.
  var slowness: Int64 = 1

  private let context: EngineContext
  private let plugins: WorkerPlugins
  /// The VMs of plugins as they are, by generation.
  private var own: [UInt64: PluginVM] = [:]
  /// The VMs of later versions, which lead down.
  private var later: [String: (version: Int, vm: PluginVM)] = [:]
  private let migrated = ByteBuffer(capacity: 1024)

  init(_ context: EngineContext, plugins: WorkerPlugins) {
    self.context = context
    self.plugins = plugins
  }

  /// Lets the VMs go, as other rules come into force.
  func removeAll() {
    own.removeAll()
    later.removeAll()
  }

  /// Brings a state to the version that a plugin declares.
  ///
  /// - Parameters:
  ///   - state: the stored state.
  ///   - plugin: the plugin, as it is in force.
  ///   - subject: the subject of the state.
  ///   - now: the time of the event or of the call.
  ///   - cost: becomes the cost of the steps that ran, also if one fails.
  /// - Returns: the state as JSON, valid until the next call.
  /// - Throws: the failure of a step, or of the check of the result.
  func migrate(
    _ state: PluginState, of plugin: Catalog.Plugin, subject: ByteView, now: Int64, cost: inout Cost
  ) throws(Failure) -> ByteView {
    let version = plugin.stateVersion
    var budget = plugin.manifest.budget
    budget.processorTime *= slowness
    cost = (0, 0)
    var (from, text) = (state.version, state.json)
    if from > version {
      text = try run(try later(plugin, from), plugin, text, from, version, &budget, &cost, subject, now)
      from = version
    }
    return try run(try own(plugin), plugin, text, from, version, &budget, &cost, subject, now)
  }

  func migrate(
    _ state: PluginState, of plugin: Catalog.Plugin, subject: ByteView, now: Int64
  ) throws(Failure) -> ByteView {
    var cost: Cost = (0, 0)
    return try migrate(state, of: plugin, subject: subject, now: now, cost: &cost)
  }

  /// Appends a state for readers: in the version that its plugin declares, or if a step fails, as it is stored, with its version.
  func show(_ state: PluginState, of name: ByteView, subject: ByteView, now: Int64, to buffer: ByteBuffer) {
    let catalog = plugins.catalog
    guard state.version > 1 || catalog.hasStateVersions,
      let plugin = catalog.plugins.first(where: { ByteOrder.equal($0.nameBytes, name) }),
      plugin.stateVersion != state.version
    else { return buffer.append(state.json) }
    do throws(Failure) { buffer.append(try migrate(state, of: plugin, subject: subject, now: now)) } catch {
      var json = JSONWriter(buffer)
      json.beginObject()
      json.member("version", Int64(state.version))
      json.member("state")
      json.raw(state.json)
      json.endObject()
    }
  }

  /// Runs the steps between two versions in a VM, and appends the result to `migrated`.
  private func run(
    _ vm: PluginVM, _ plugin: Catalog.Plugin, _ text: ByteView, _ from: Int, _ to: Int, _ budget: inout Budget,
    _ cost: inout Cost, _ subject: ByteView, _ now: Int64
  ) throws(Failure) -> ByteView {
    var event = RuleEvent(reading: subject, state: text, now: now)
    let result = vm.migrate(
      &event, from: from, to: to, budget: budget, stateLimit: context.stateBytes,
      checksFit: to == vm.manifest.stateVersion)
    let used = (budget.instructions - vm.instructionsLeft, Int64(vm.spentMilliseconds) * 1_000)
    cost = (cost.instructions + used.0, cost.microseconds + used.1)
    budget.spend(instructions: used.0, microseconds: used.1)
    guard result != .failed else {
      var failure = vm.failure(rule: nil)
      failure.plugin = plugin.name
      if !failure.kind.isStop {
        failure.kind = .migration
        let what = from == to ? "does not fit version \(to)" : "can't go from version \(from) to \(to)"
        failure.message = "the state \(what): \(failure.message)"
      }
      throw failure
    }
    migrated.removeAll()
    migrated.append(vm.output)
    return migrated.bytes
  }

  // MARK: VMs

  private func own(_ plugin: Catalog.Plugin) throws(Failure) -> PluginVM {
    if let vm = own[plugin.generation], !vm.isDead { return vm }
    if own.count >= Self.most { own.removeAll() }
    let vm = try load(plugin.source, plugin.overrides)
    own[plugin.generation] = vm
    return vm
  }

  private func later(_ plugin: Catalog.Plugin, _ version: Int) throws(Failure) -> PluginVM {
    guard let steps = context.steps[plugin.name], steps.version >= version else {
      throw Failure(
        plugin: plugin.name, kind: .migration,
        message: "the state has version \(version), the plugin declares \(plugin.stateVersion), and no rules are known "
          + "whose steps lead back")
    }
    if let known = later[plugin.name], known.version == steps.version, known.vm.source == steps.source,
      !known.vm.isDead
    {
      return known.vm
    }
    let vm = try load(steps.source, steps.settings)
    later[plugin.name] = (steps.version, vm)
    return vm
  }

  private func load(_ source: PluginSource, _ settings: JSONObject) throws(Failure) -> PluginVM {
    do throws(LoadError) { return try plugins.makeVM(source, settings) } catch {
      throw Failure(
        plugin: source.name, kind: .migration, message: error.message, file: error.file,
        line: error.line > 0 ? error.line : nil)
    }
  }
}

extension Budget {
  /// Subtracts the used part; a little is always left, and stops a run that needs more.
  mutating func spend(instructions: Int, microseconds: Int64) {
    self.instructions = max(1, self.instructions - instructions)
    processorTime = max(1_000, processorTime - microseconds)
  }
}
