import RuledCore
import RuledEngine
import RuledIO

extension RulesLoader {
  /// Reads the configuration: nil if it is unchanged, true if a new one is in force, false if it is wrong and the old one stays in force.
  func reconfigure() -> Bool? {
    let next: Configuration
    do throws(StartError) { next = try readSettings() } catch {
      refuse(error)
      return false
    }
    services.status.configurationError = nil
    let old = services.configuration
    old.logRereading(of: next, to: services.log)
    services.adopt(next)
    return next == old ? nil : true
  }

  /// Looks at the configuration for a client that has the rules loaded: as `reconfigure`, but the settings in force change only if SIGHUP has asked
  /// for it before, when the configuration was refused, or if the daemon runs without some of them since its start.
  func reviewConfiguration() -> Bool? {
    if services.status.configurationError != nil || !catalog.badSettings.isEmpty { return reconfigure() }
    do throws(StartError) { _ = try readSettings() } catch {
      refuse(error)
      return false
    }
    return nil
  }

  /// Reads the configuration, and compares its settings with the declarations of the rules that a reload puts in force.
  private func readSettings() throws(StartError) -> Configuration {
    let next = try readConfiguration()
    guard next.plugins != services.configuration.plugins, folderWaits == nil, let folder = try? RulesFolder.read(path)
    else { return next }
    let rules = try? Self.build(
      promoted(over: folder) ?? folder, next.plugins, previous: catalog, services, lua, at: services.context.clock.now)
    guard let error = ReloadError(rules?.badSettings ?? [], in: next.file) else { return next }
    var refusal = StartError(error.errors.map(\.description).joined(separator: "\n"), isLasting: true)
    refusal.errors = error.json
    throw refusal
  }

  private func refuse(_ error: StartError) {
    services.status.configurationError = error
    Configuration.report(error, to: services.log)
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
