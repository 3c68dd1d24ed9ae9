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

  /// The keys that differ in `next` and can't change while the daemon runs.
  private func keysForRestart(besides next: Configuration) -> [String] {
    var keys: [String] = []
    if socket != next.socket { keys.append("socket") }
    if rules != next.rules { keys.append("rules") }
    if store != next.store { keys.append("store") }
    if cluster != next.cluster { keys.append("cluster") }
    if journal.isOn != next.journal.isOn { keys.append("journal.keep") }
    if durability != next.durability { keys.append("durability") }
    if workers != next.workers { keys.append("workers") }
    if http != next.http { keys.append("http") }
    var changed = self
    changed.adopt(next)
    if changed.limits != next.limits { keys.append("limits") }
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

  /// Logs why a configuration can't be used.
  package static func report(_ error: StartError, to log: any EventLog) {
    for problem in error.description.split(separator: "\n") {
      log.error("the configuration is wrong, the old one stays in force: \(problem)")
    }
  }
}
