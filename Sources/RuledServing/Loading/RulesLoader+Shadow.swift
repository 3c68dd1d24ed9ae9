import RuledCore
import RuledStore
import RuledWire

/// Shadows: rules that see live events beside the live rules, and change nothing.
extension RulesLoader {
  func startShadow(_ params: ShadowStartParams) throws(RequestError) -> JSONValue {
    guard let journal = services.journal else {
      throw RequestError(
        .unavailable, "a shadow follows the journal, which is off (journal.keep), or the store is in memory")
    }
    guard services.shadow.withLock({ $0 == nil }) else {
      throw RequestError(.reloadFailed, "a shadow runs: 'rulectl shadow stop' ends it")
    }
    var source = try UploadedRules.source(params.rules, services.uploads)
    if let plugins = params.plugins {
      if let unknown = plugins.first(where: { name in !source.plugins.contains { $0.name == name } }) {
        throw .invalidParams(path: "params.plugins", "the rules have no plugin '\(unknown)'")
      }
      source = catalog.source.taking(plugins, from: source)
    }
    let next = try buildCandidate(of: source)
    do throws(StoreError) {
      let status = services.status
      let shadow = try Shadow(.init(next, from: .rollout), percent: params.percent, journal, services.context) {
        status.catalog
      }
      services.shadow.withLock { $0 = shadow }
      services.log.info("revision \(next.revision) sees live events as a shadow")
      return shadow.status
    } catch { throw RequestError(.unavailable, "the shadow can't begin: \(error)") }
  }

  func runningShadow() throws(RequestError) -> Shadow {
    guard let shadow = services.shadow.withLock({ $0 }) else { throw RequestError(.notFound, "no shadow runs") }
    return shadow
  }

  func stopShadow() throws(RequestError) -> JSONValue {
    let shadow = try runningShadow()
    shadow.stop()
    services.shadow.withLock { $0 = nil }
    return shadow.status
  }
}
