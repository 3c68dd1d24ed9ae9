import RuledLua
import Synchronization

/// VMs of a plugin that were built ahead, so that the threads that run its rules are not held up by building them.
package final class ReadyVMs: Sendable {
  /// A VM that is attached to no thread.
  private struct DetachedVM: @unchecked Sendable {  // no thread uses it while it is in the list
    let vm: PluginVM
  }

  /// Whether the plugin loads so slowly that VMs are worth building ahead.
  package let isSlow: Bool
  private let vms = Mutex<[DetachedVM]>([])
  private let onTake: @Sendable () -> Void

  /// An empty list; `onTake` is called whenever a VM of a slow plugin was taken.
  init(isSlow: Bool, onTake: @escaping @Sendable () -> Void) {
    self.isSlow = isSlow
    self.onTake = onTake
  }

  package var count: Int { vms.withLock { $0.count } }

  /// Adds a VM, which the calling thread must not use any more.
  func add(_ vm: PluginVM) {
    vm.detach()
    let detached = DetachedVM(vm: vm)
    vms.withLock { $0.append(detached) }
  }

  /// Takes a VM for the calling thread, whose worker this is; nil when there is none.
  func take(for worker: LuaWorker) -> PluginVM? {
    guard let detached = vms.withLock({ $0.popLast() }) else { return nil }
    detached.vm.attach(to: worker)
    if isSlow { onTake() }
    return detached.vm
  }
}
