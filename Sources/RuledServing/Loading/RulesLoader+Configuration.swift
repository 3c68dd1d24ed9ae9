import RuledCore
import RuledEngine
import RuledIO

extension RulesLoader {
  /// Reads the configuration: nil if it is unchanged, true if a new one is in force, false if it is wrong and the old one stays in force.
  func reconfigure() -> Bool? {
    let next: Configuration
    do throws(StartError) { next = try readConfiguration() } catch {
      refuse(error)
      return false
    }
    services.status.configurationError = nil
    let old = services.configuration
    old.logRereading(of: next, to: services.context.log)
    services.adopt(next)
    return next == old ? nil : true
  }

  /// Looks at the configuration for a client that has the rules loaded: as `reconfigure`, but the settings in force change only if SIGHUP has asked
  /// for it before, when the configuration was refused.
  func reviewConfiguration() -> Bool? {
    if services.status.configurationError != nil { return reconfigure() }
    do throws(StartError) { _ = try readConfiguration() } catch {
      refuse(error)
      return false
    }
    return nil
  }

  private func refuse(_ error: StartError) {
    services.status.configurationError = error
    Configuration.report(error, to: services.context.log)
  }
}

extension StartError {
  /// The answer to a `reload` while the configuration on the disk is refused.
  var requestError: RequestError {
    let first = description.split(separator: "\n").first ?? ""
    return RequestError(
      .reloadFailed, "the configuration is refused, the old one stays in force: \(first)",
      details: [.init("errors", errors)])
  }
}
