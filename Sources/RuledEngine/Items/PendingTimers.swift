/// The names of a subject's pending timers by plugin, as the batches of its worker will leave them.
///
/// A subject with many timers is asked for them at each that fires, and reading them all takes a millisecond.
final class PendingTimers {
  /// The number of times that the worker had taken back writes when they were read: others after that are not known here.
  let rollBacks: Int
  private(set) var count = 0
  private var names: [[UInt8]: Set<[UInt8]>] = [:]

  init(_ timers: [DueTimer], rollBacks: Int) {
    self.rollBacks = rollBacks
    for timer in timers { insert(timer.name, of: timer.plugin) }
  }

  func names(of plugin: [UInt8]) -> Set<[UInt8]> { names[plugin] ?? [] }

  func insert(_ name: [UInt8], of plugin: [UInt8]) {
    if names[plugin, default: []].insert(name).inserted { count += 1 }
  }

  func remove(_ name: [UInt8], of plugin: [UInt8]) {
    if names[plugin]?.remove(name) != nil { count -= 1 }
  }
}
