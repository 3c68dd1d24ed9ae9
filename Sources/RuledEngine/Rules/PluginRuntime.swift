package import RuledCore
package import RuledLua
import Synchronization

/// The measurements of a plugin over all workers, and whether it is suspended.
///
/// It lasts as long as the plugin's sources are the same; a reload that changes the plugin starts a new one.
package final class PluginRuntime: Sendable {
  private let runCount = Atomic<Int>(0)
  private let failureCount = Atomic<Int>(0)
  private let stopsInARow = Atomic<Int>(0)
  private let suspended = Atomic<Bool>(false)
  private let times = Mutex(Times())
  private let failuresByCause = Mutex<[Cause: Int]>([:])

  private struct Times {
    /// Four buckets for each doubling: one plugin takes 2 KiB.
    var quantiles = LatencyHistogram(precision: PluginRuntime.precision)
    var buckets = BucketHistogram(bounds: BucketHistogram.runTimes)
  }

  /// Which rule failed, and how.
  package struct Cause: Sendable, Hashable {
    /// The rule's name; empty if the failure was not in a rule.
    package let rule: String
    /// How it failed.
    package let kind: Failure.Kind
  }
  /// The precision of `durations`.
  package static let precision = 2

  /// A plugin that has not run yet.
  package init() {}

  /// How many events it saw.
  package var runs: Int { runCount.load(ordering: .relaxed) }
  /// How many events it failed on.
  package var failures: Int { failureCount.load(ordering: .relaxed) }
  /// Whether its events are parked without running its rules.
  package var isSuspended: Bool { suspended.load(ordering: .relaxed) }

  /// Notes that it handled an event.
  package func noteSuccess() {
    runCount.wrappingAdd(1, ordering: .relaxed)
    if stopsInARow.load(ordering: .relaxed) != 0 { stopsInARow.store(0, ordering: .relaxed) }
  }

  /// Notes that it failed.
  ///
  /// - Returns: whether this failure suspends it.
  package func noteFailure(_ failure: Failure) -> Bool {
    runCount.wrappingAdd(1, ordering: .relaxed)
    failureCount.wrappingAdd(1, ordering: .relaxed)
    failuresByCause.withLock { $0[Cause(rule: failure.rule ?? "", kind: failure.kind), default: 0] += 1 }
    guard failure.kind.isStop else {
      stopsInARow.store(0, ordering: .relaxed)
      return false
    }
    let stops = stopsInARow.wrappingAdd(1, ordering: .relaxed).newValue
    guard stops >= Limits.stopsBeforeSuspension else { return false }
    return !suspended.exchange(true, ordering: .relaxed)
  }

  /// Lets the plugin run again.
  package func resume() {
    stopsInARow.store(0, ordering: .relaxed)
    suspended.store(false, ordering: .relaxed)
  }

  /// How many events each rule failed on, in which way.
  package var causes: [Cause: Int] { failuresByCause.withLock { $0 } }

  /// Notes how long an event took, in nanoseconds.
  package func took(_ nanoseconds: UInt64) {
    times.withLock { times in
      times.quantiles.record(nanoseconds)
      times.buckets.record(nanoseconds)
    }
  }

  /// How long the measured events took, in nanoseconds.
  package var runTimes: BucketHistogram { times.withLock { $0.buckets } }

  /// How long the measured events took.
  package var durations: LatencyHistogram { times.withLock { $0.quantiles } }

  /// The time in microseconds that a share of the events, 0 to 1, did not exceed; 0 before the first event.
  package func percentile(_ share: Double) -> Double { Double(times.withLock { $0.quantiles.quantile(share) }) / 1000 }
}

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
  package init(isSlow: Bool, onTake: @escaping @Sendable () -> Void) {
    self.isSlow = isSlow
    self.onTake = onTake
  }

  /// How many VMs there are.
  package var count: Int { vms.withLock { $0.count } }

  /// Adds a VM, which the calling thread must not use any more.
  package func add(_ vm: PluginVM) {
    vm.detach()
    let detached = DetachedVM(vm: vm)
    vms.withLock { $0.append(detached) }
  }

  /// Takes a VM for the calling thread, whose worker this is; nil when there is none.
  package func take(for worker: LuaWorker) -> PluginVM? {
    guard let detached = vms.withLock({ $0.popLast() }) else { return nil }
    detached.vm.attach(to: worker)
    if isSlow { onTake() }
    return detached.vm
  }
}

/// The VMs of plugins by their generation, for an evaluator whose rules change back and forth.
package final class SpareVMs {
  /// How many are kept.
  private static let most = 64

  private var vms: [UInt64: PluginVM] = [:]

  /// None.
  package init() {}

  /// Puts other rules in force; VMs of plugins that were in force before are used again.
  package func adopt(_ catalog: Catalog, in evaluator: Evaluator) {
    save(of: evaluator)
    evaluator.adopt(catalog)
    install(in: evaluator)
  }

  /// Keeps the VMs of an evaluator.
  func save(of evaluator: Evaluator) {
    if vms.count > Self.most { vms.removeAll() }
    for plugin in evaluator.plugins.all {
      if let vm = plugin.vm, !vm.isDead { vms[plugin.entry.generation] = vm }
    }
  }

  /// Gives an evaluator the VMs that it has no own ones for.
  func install(in evaluator: Evaluator) {
    for plugin in evaluator.plugins.all where plugin.vm == nil {
      if let vm = vms[plugin.entry.generation] { evaluator.plugins.install(vm, for: plugin) }
    }
  }
}
