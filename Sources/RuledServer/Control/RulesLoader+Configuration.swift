import RuledCore
import RuledEngine

/// Reading the configuration again.
extension RulesLoader {
  /// Reads the configuration: nil if it is unchanged, true if a new one holds, false if it is wrong and the old one holds.
  func reconfigure() -> Bool? {
    let next: Configuration
    do throws(StartError) { next = try readConfiguration() } catch {
      services.status.configurationError = error.description
      for problem in error.description.split(separator: "\n") {
        services.context.log.write(LogLine(.error, "the configuration is wrong, the old one holds: \(problem)"))
      }
      return false
    }
    services.status.configurationError = nil
    let fixed = Self.fixed(services.context.configuration, next)
    if !fixed.isEmpty {
      services.context.log.write(
        LogLine(.warn, "the configuration changes \(fixed.joined(separator: ", ")), which takes a restart"))
    }
    let isOther = next != services.configuration
    services.adopt(next)
    guard isOther else { return nil }
    services.context.log.write(LogLine(.info, "the configuration was read again"))
    return true
  }

  /// The keys that differ and can't change while the daemon runs.
  private static func fixed(_ old: Configuration, _ new: Configuration) -> [String] {
    var keys: [String] = []
    if old.socket != new.socket { keys.append("socket") }
    if old.rules != new.rules { keys.append("rules") }
    if old.store != new.store { keys.append("store") }
    if old.cluster != new.cluster { keys.append("cluster") }
    if old.journal.isOn != new.journal.isOn { keys.append("journal.keep") }
    if old.durability != new.durability { keys.append("durability") }
    if old.workers != new.workers { keys.append("workers") }
    if old.http != new.http { keys.append("http") }
    var limits = new.limits
    limits.stateKiB = old.limits.stateKiB
    limits.counters = old.limits.counters
    if old.limits != limits { keys.append("limits") }
    return keys
  }
}
