/// The names of a subject's pending timers by plugin, as the batches of its worker will leave them.
///
/// Each timer that fires asks for them where a subject has many, and reading a thousand takes a millisecond.
final class PendingTimers {
  /// `BatchQueue.rollBacks` at the time of reading; a later number means that the names are out of date.
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
