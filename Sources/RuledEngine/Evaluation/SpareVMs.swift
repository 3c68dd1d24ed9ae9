import RuledLua

/// The VMs of plugins by their generation, for an evaluator whose rules change back and forth.
package final class SpareVMs {
  /// How many are kept.
  private static let most = 64

  private var vms: [UInt64: PluginVM] = [:]

  package init() {}

  /// Puts other rules in force; VMs of plugins that were in force before are used again.
  package func adopt(_ catalog: Catalog, in evaluator: Evaluator) {
    save(of: evaluator)
    evaluator.adopt(catalog)
    install(in: evaluator)
  }

  func save(of evaluator: Evaluator) {
    if vms.count > Self.most { vms.removeAll() }
    for plugin in evaluator.plugins.all {
      if let vm = plugin.vm, !vm.isDead { vms[plugin.loaded.generation] = vm }
    }
  }

  /// Gives an evaluator VMs for its plugins that have none.
  func install(in evaluator: Evaluator) {
    for plugin in evaluator.plugins.all where plugin.vm == nil {
      if let vm = vms[plugin.loaded.generation] { evaluator.plugins.install(vm, for: plugin) }
    }
  }
}
