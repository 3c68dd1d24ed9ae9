package import RuledCore
package import RuledLua
import Synchronization

/// What is measured of a plugin while it serves, over all workers, and whether it is suspended.
///
/// It lives as long as the plugin's sources stay the same; a reload that changes the plugin begins anew.
package final class PluginRuntime: Sendable {
  private let runCount = Atomic<Int>(0)
  private let failureCount = Atomic<Int>(0)
  private let stopsInARow = Atomic<Int>(0)
  private let suspended = Atomic<Bool>(false)
  private let buckets = Mutex<[Int]>(Array(repeating: 0, count: 64 * 4))

  /// A plugin that has not run yet.
  package init() {}

  /// How often it saw an event.
  package var runs: Int { runCount.load(ordering: .relaxed) }
  /// How often it failed on one.
  package var failures: Int { failureCount.load(ordering: .relaxed) }
  /// Whether its events are parked without running it.
  package var isSuspended: Bool { suspended.load(ordering: .relaxed) }

  /// Notes that it handled an event.
  package func succeeded() {
    runCount.wrappingAdd(1, ordering: .relaxed)
    if stopsInARow.load(ordering: .relaxed) != 0 { stopsInARow.store(0, ordering: .relaxed) }
  }

  /// Notes that it failed; answers true when this failure suspends it.
  package func failed(_ kind: Failure.Kind) -> Bool {
    runCount.wrappingAdd(1, ordering: .relaxed)
    failureCount.wrappingAdd(1, ordering: .relaxed)
    guard kind.isStop else {
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

  /// Notes how long an event took, in nanoseconds.
  package func took(_ nanoseconds: UInt64) {
    let bucket = Self.bucket(nanoseconds)
    buckets.withLock { $0[bucket] += 1 }
  }

  /// The time that `share` of the events, 0 to 1, did not exceed, in microseconds; 0 when nothing ran.
  package func percentile(_ share: Double) -> Double {
    let counts = buckets.withLock { $0 }
    let all = counts.reduce(0, +)
    guard all > 0 else { return 0 }
    var left = Int((Double(all) * share).rounded(.up))
    for (bucket, count) in counts.enumerated() where count > 0 {
      left -= count
      if left <= 0 { return Self.middle(bucket) / 1000 }
    }
    return 0
  }

  /// Four buckets for each doubling.
  private static func bucket(_ value: UInt64) -> Int {
    guard value >= 4 else { return Int(value) }
    let doubling = 63 - value.leadingZeroBitCount
    return doubling * 4 + Int((value >> UInt64(doubling - 2)) & 3)
  }

  private static func middle(_ bucket: Int) -> Double {
    guard bucket >= 8 else { return Double(bucket) }
    let doubling = bucket / 4
    return Double(UInt64(4 + bucket % 4) << UInt64(doubling - 2)) + Double(UInt64(1) << UInt64(doubling - 2)) / 2
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
