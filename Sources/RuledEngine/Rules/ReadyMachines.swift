import RuledCore
package import RuledLua
import Synchronization

/// Machines of a plugin that were built ahead, for the threads that run its rules: to build one there would hold up all that they serve.
package final class ReadyMachines: Sendable {
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
