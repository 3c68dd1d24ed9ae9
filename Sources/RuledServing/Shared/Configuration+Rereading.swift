package import RuledCore
package import RuledIO

package typealias ConfigurationReader = @Sendable () throws(StartError) -> Configuration

/// The changes of a reload to the configuration while the daemon runs.
extension Configuration {
  /// Takes the settings that may change at run time from `next`.
  package mutating func adopt(_ next: Configuration) {
    plugins = next.plugins
    sinks = next.sinks
    admins = next.admins
    couriers = next.couriers
    metrics = next.metrics
    if journal.isOn == next.journal.isOn { journal = next.journal }
    dedupWindow = next.dedupWindow
    limits.stateKiB = next.limits.stateKiB
    limits.counters = next.limits.counters
    limits.timerStep = next.limits.timerStep
  }

  /// The keys that differ in `next` and that `adopt` does not take: all others of the configuration and of its limits.
  private func keysForRestart(besides next: Configuration) -> [String] {
    var changed = self
    changed.adopt(next)
    var keys: [String] = []
    for (member, other) in zip(Mirror(reflecting: changed).children, Mirror(reflecting: next).children) {
      guard let name = member.label, (member.value as? any Equatable)?.equals(other.value) != true else { continue }
      guard name == "limits" else {
        keys.append(name)
        continue
      }
      for (key, _, limit) in Bounds.integers where changed.limits[keyPath: limit] != next.limits[keyPath: limit] {
        keys.append("limits.\(key)")
      }
    }
    return keys
  }

  /// Logs that `next` was read in place of this one, and the keys whose change takes a restart.
  package func logRereading(of next: Configuration, to log: any EventLog) {
    guard next != self else { return }
    let fixed = keysForRestart(besides: next)
    if !fixed.isEmpty {
      log.warn("the configuration changes \(fixed.joined(separator: ", ")), which takes a restart")
    }
    log.info("the configuration was read again")
  }

  package static func report(_ error: StartError, to log: any EventLog) {
    for problem in error.description.split(separator: "\n") {
      log.error("the configuration is wrong, the old one stays in force: \(problem)")
    }
  }
}

extension Equatable {
  fileprivate func equals(_ other: Any) -> Bool { self == other as? Self }
}
