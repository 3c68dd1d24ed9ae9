import RuledCore
import RuledEngine

/// Reading the configuration again.
extension RulesLoader {
  /// Reads the configuration: nil if it is unchanged, true if a new one holds, false if it is wrong and the old one holds.
  func reconfigure() -> Bool? {
    let next: Configuration
    do throws(StartError) { next = try readConfiguration() } catch {
      services.status.configurationError = error.description
      Configuration.report(error, to: services.context.log)
      return false
    }
    services.status.configurationError = nil
    let old = services.configuration
    old.logRereading(of: next, to: services.context.log)
    services.adopt(next)
    return next == old ? nil : true
  }
}
