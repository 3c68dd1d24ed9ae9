import RuledCore
import RuledEngine

/// What is counted on the node and shown by the owner, and what the owner has for all subjects.
extension RemoteEvaluator {
  /// Adds what the node has counted to what this daemon has.
  func count(_ counts: ShareCounts) {
    services.elsewhere?.add(counts)
    services.context.damagedMessages.wrappingAdd(Int(truncatingIfNeeded: counts.damaged), ordering: .relaxed)
    guard let catalog = services.status.catalog, catalog.revision == revision else { return }
    for tally in counts.plugins {
      guard let runtime = catalog.plugins.first(where: { $0.name == tally.name })?.runtime else { continue }
      let suspendsHere = runtime.add(
        runs: Int(truncatingIfNeeded: tally.runs), causes: tally.failures.mapValues { Int(truncatingIfNeeded: $0) },
        lastStops: Int(truncatingIfNeeded: tally.lastStops))
      if tally.isSuspended { suspended.insert(tally.name) }
      guard suspendsHere || (tally.isSuspended && runtime.suspend()) else { continue }
      services.context.log.write(
        LogLine(
          .error, "the plugin is suspended, as it was stopped three times in a row, the last time on node \(node)",
          plugin: tally.name))
    }
  }

  /// Tells the node what is wrong with the owner and the others, if it does not know it.
  func tell(problems: [String]) {
    guard problems != toldProblems else { return }
    toldProblems = problems
    channel.send(.problems(problems))
  }

  /// Tells the node what holds for all subjects, as far as it does not know it: which plugins are suspended, and the time of a manual clock.
  ///
  /// A plugin runs again, and a manual clock changes, only while nothing is lent.
  func tell(suspended names: Set<String>, clock time: Int64?) {
    for name in names.subtracting(suspended).sorted() { channel.send(.suspended(plugin: name, isSuspended: true)) }
    for name in suspended.subtracting(names).sorted() { channel.send(.suspended(plugin: name, isSuspended: false)) }
    suspended = names
    guard let time, time != clock else { return }
    clock = time
    channel.send(.clock(time))
  }
}
