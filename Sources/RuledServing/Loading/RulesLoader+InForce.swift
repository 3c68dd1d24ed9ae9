import RuledCore
import RuledEngine
import RuledIO
import RuledLua
import RuledStore

/// Putting rules in force: the folder's, or those of another node's folder.
extension RulesLoader {
  /// Builds and adopts the rules in the folder; the result is whether anything changed.
  func reload() -> Result<Bool, ReloadError> {
    if let folderWaits { return .failure(ReloadError([folderWaits])) }
    do throws(ReloadError) {
      return .success(try adopt(try RulesFolder.read(path), services.configuration.plugins, isOwn: true))
    } catch {
      services.status.reloadErrors = error
      return .failure(error)
    }
  }

  func takeFolder(of node: String) throws(RequestError) -> JSONValue {
    guard let agreement = services.agreement else {
      throw RequestError(.notFound, "there is no node \(node): this daemon is not a node of a cluster")
    }
    defer { services.notifyStatus() }
    do throws(ReloadError) {
      if let folderWaits { throw ReloadError([folderWaits]) }
      let found = try agreement.folder(of: node, while: builder.isWaiting)
      let hasChanged = try adopt(found.rules, found.configuration, isOwn: false)
      services.status.noteReload(isSuccess: true)
      services.log.info("rules loaded from the folder of node \(node), revision \(catalog.revision)")
      return ["revision": .string(catalog.revision), "changed": .bool(hasChanged)]
    } catch {
      services.status.noteReload(isSuccess: false)
      throw error.requestError
    }
  }

  /// Puts the rules of a folder in force, once all nodes of the cluster have loaded them; returns whether they are others than before.
  ///
  /// Promoted rules stay as long as the folder is the one that they were promoted over.
  private func adopt(
    _ folder: RulesSource, _ configuration: [String: Configuration.Plugin], isOwn: Bool
  ) throws(ReloadError) -> Bool {
    let promoted = promoted(over: folder)
    let next = try builder.build(
      promoted ?? folder, configuration, previous: catalog, checksFiles: promoted == nil)
    let obstacle =
      ReloadError(next.badSettings, in: isOwn ? services.configuration.file : nil) ?? next.changedShape(since: catalog)
      ?? services.context.steps.obstacle(to: next)
    if let obstacle { throw obstacle }
    try builder.agreeAndCommit(next)
    services.status.reloadErrors = nil
    foreignFolder = isOwn ? nil : builder.foreignFolder(beside: next)
    if promoted == nil { dropReplacing() }
    let origin: RulesOrigin = promoted != nil ? .promoted : foreignFolder == nil ? .folder : .log
    guard next.revision != catalog.revision else {
      services.status.serve(catalog, as: origin)
      for plugin in catalog.plugins where plugin.runtime.hasStopped { plugin.runtime.resume() }
      return false
    }
    keep(next, from: promoted == nil ? .folder : .promoted)
    putInForce(next, as: origin)
    return true
  }

  /// The rules that were promoted over a folder as long as it had these files.
  func promoted(over folder: RulesSource) -> RulesSource? {
    replacing.flatMap { $0.reason == .promoted(folder: folder.revision) ? $0.revision.rules : nil }
  }

  /// Puts other rules in force on all workers, with `adopt` if given, and tries again the parked events of the plugins that changed.
  ///
  /// A store that blocks delays only the later steps: the rules are in force, and the status has them.
  func putInForce(_ next: Catalog, as origin: RulesOrigin, _ adopt: (@Sendable (Evaluator) -> Void)? = nil) {
    let previous = catalog
    catalog = next
    noteUse(of: next.revision, until: nil)
    if next.revision != previous.revision { noteUse(of: previous.revision, until: services.context.clock.now) }
    services.deferMessages(of: next.pluginsChanged(since: previous))
    for (index, worker) in services.workers.enumerated() {
      _ = worker.send(
        .evaluate { evaluator in
          if let adopt { adopt(evaluator) } else { evaluator.adopt(next) }
          if index == 0 { evaluator.journal(next) }
        })
    }
    services.status.serve(next, as: origin)
    _ = services.control.send(.rulesChanged)
    services.reloads.withStore {
      StoredRules.write(next.source, to: services.context)
      services.retryParked()
    }
  }

  /// The folder's rules are in force again.
  private func dropReplacing() {
    guard replacing != nil else { return }
    replacing = nil
    services.reloads.withStore {
      do throws(StoreError) { try RulesInPlaceOfFolder.remove(from: services.context.store) } catch {
        services.log.error("the promoted rules stay in the store, a restart compares them with the folder: \(error)")
      }
    }
  }

  /// Why the folder is not read; nil when it is.
  var folderWaits: LoadError? {
    if isRollingOut {
      return LoadError(file: "", line: 0, "a rollout runs, so changes of the rules folder wait: promote or abort it")
    }
    guard replacing?.reason == .pinned else { return nil }
    return LoadError(
      file: "", line: 0,
      "revision \(catalog.revision) is pinned, so the rules folder is not read: 'rulectl unpin' reads it again")
  }

  // MARK: The configuration

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
    let rules = try? builder.build(promoted(over: folder) ?? folder, next.plugins, previous: catalog)
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
      details: ["errors": errors])
  }
}
