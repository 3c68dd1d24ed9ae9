import RuledCore
import RuledEngine
import RuledIO
import RuledLua
import RuledStore

/// Builds rules on the loader's thread, and finds those that the daemon starts with.
struct RulesBuilder {
  let services: Services
  let lua = LuaWorker()

  /// The rules that a daemon starts with, and why they are not the folder's.
  struct Start {
    var catalog: Catalog
    var replacing: RulesInPlaceOfFolder?
    var rollout: RolloutState?
    /// The candidate, while a rollout runs.
    var candidate: Catalog?
    /// The subjects that earlier processes counted for it, by the hash of the name.
    var earlier: Set<UInt64> = []
  }

  // MARK: Building

  /// Builds a revision with the configuration that it had.
  func build(_ revision: RevisionArchive.Revision, previous: Catalog?) throws(ReloadError) -> Catalog {
    try build(revision.rules, revision.configuration, previous: previous, at: revision.entry.loadedAt)
  }

  /// Builds rules with their plugins' configuration, by default the daemon's; they were loaded at `time`, by default now.
  func build(
    _ source: RulesSource, _ configuration: [String: Configuration.Plugin]? = nil, previous: Catalog?,
    checksFiles: Bool = false, at time: Timestamp? = nil
  ) throws(ReloadError) -> Catalog {
    let (notifier, reloads) = (services.notifier, services.reloads)
    let threads = CatalogBuilder.Threads(services.workers.count) {
      notifier.extendTimeout()
    } onTake: {
      reloads.request(.machines)
    }
    return try CatalogBuilder.build(
      source, configuration: configuration ?? services.configuration.plugins, previous: previous, worker: lua,
      for: threads, checksFiles: checksFiles, now: time ?? services.context.clock.now)
  }

  // MARK: The start

  /// Both sides of a rollout that runs, the pinned or promoted rules, the folder's, or the last good ones: the first of these that load.
  func start() throws(StartError) -> Start {
    let store = services.context.store
    let replacing = stored("the pinned rules") { () throws(StoreError) in try RulesInPlaceOfFolder.read(from: store) }
    var rollout = stored("the rollout") { () throws(StoreError) in try RolloutState.read(from: store) }
    if let sides = rollout?.sides {
      do throws(ReloadError) {
        let live = try build(sides.live, previous: nil)
        let candidate = try build(sides.candidate, previous: live)
        serve(live, as: replacing != nil ? .promoted : foreignFolder(beside: live) != nil ? .log : .folder)
        let earlier = resume(&rollout)
        return Start(catalog: live, replacing: replacing, rollout: rollout, candidate: candidate, earlier: earlier)
      } catch {
        _ = resume(&rollout)
        rollout?.end(.aborted, RolloutCounts())
        rollout?.reason = "its rules did not load at a start: \(error.requestError.message)"
        services.log.error("the rollout is aborted, as its rules do not load: \(error.errors)")
      }
    }
    if let catalog = try logged(replacing) {
      return Start(catalog: catalog, replacing: replacing, rollout: rollout)
    }
    if let replacing, let catalog = try restore(replacing) {
      return Start(catalog: catalog, replacing: replacing, rollout: rollout)
    }
    return Start(catalog: try first(), rollout: rollout)
  }

  /// Notes that rules were loaded, and where they come from.
  private func serve(_ catalog: Catalog, as origin: RulesOrigin) {
    services.status.serve(catalog, as: origin)
    services.status.noteReload(isSuccess: true)
  }

  /// Adds an earlier process's counts of a rollout to its state; the result is the subjects among them.
  ///
  /// Counts that can't be read begin again, which is logged.
  private func resume(_ rollout: inout RolloutState?) -> Set<UInt64> {
    guard var state = rollout else { return [] }
    let store = services.context.store
    do throws(StoreError) {
      let earlier = try state.counts.addStored(in: store)
      let set = WriteSet(capacity: 4096)
      state.put(into: set)
      try RolloutCounts.deleteCounts(in: store, from: set)
      try store.commit(set, durable: true)
      rollout = state
      return earlier
    } catch {
      services.log.error("the counts of the rollout begin again: \(error)")
      return []
    }
  }

  /// A value from the store; nil where it can't be read, which is logged.
  private func stored<Value>(_ name: String, _ read: () throws(StoreError) -> Value?) -> Value? {
    do throws(StoreError) { return try read() } catch {
      services.log.error("\(name) can't be read from the store, the rules folder is read: \(error)")
      return nil
    }
  }

  /// The catalog of rules in place of the folder's; nil when the folder has changed since, or they don't load.
  private func restore(_ replacing: RulesInPlaceOfFolder) throws(StartError) -> Catalog? {
    if case .promoted(let folder) = replacing.reason,
      let source = try? RulesFolder.read(services.configuration.rules), source.revision != folder
    {
      do throws(StoreError) { try RulesInPlaceOfFolder.remove(from: services.context.store) } catch {
        throw StartError("the store failed: \(error)")
      }
      return nil
    }
    do throws(ReloadError) {
      let catalog = try build(replacing.revision, previous: nil)
      serve(catalog, as: replacing.reason == .pinned ? .pinned : .promoted)
      return catalog
    } catch {
      services.log.error("the pinned revision does not load, the rules folder is read instead: \(error.errors)")
      return nil
    }
  }

  /// The rules in the folder, or the last good ones when those don't load.
  private func first() throws(StartError) -> Catalog {
    let problem: ReloadError
    do throws(ReloadError) {
      let source = try RulesFolder.read(services.configuration.rules)
      let catalog = try build(source, previous: nil, checksFiles: true)
      if let obstacle = services.context.steps.obstacle(to: catalog) ?? changedShape(in: catalog) { throw obstacle }
      keep(catalog, from: .folder)
      services.reloads.withStore { StoredRules.write(source, to: services.context) }
      serve(catalog, as: .folder)
      return catalog
    } catch { problem = error }
    services.status.noteReload(isSuccess: false)
    let reasons = problem.errors.map(\.description).joined(separator: "\n")
    let last: RulesSource?
    do throws(StoreError) { last = try StoredRules.read(from: services.context.store) } catch {
      throw StartError(
        "the rules do not load, and the revision that the store keeps can't be read: \(error)\n\(reasons)")
    }
    guard let stored = last else {
      throw StartError(
        "the rules do not load, and no earlier revision is kept to serve instead:\n\(reasons)", isLasting: true)
    }
    do throws(ReloadError) {
      let catalog = try build(stored, previous: nil)
      services.status.reloadErrors = problem
      services.status.serve(catalog, as: .stored)
      services.log.error("the rules do not load, the last good revision \(catalog.revision) serves: \(reasons)")
      return catalog
    } catch { throw StartError("neither the rules nor the revision kept last load:\n\(reasons)", isLasting: true) }
  }

  /// Why rules can't follow those that were in force last, as the shape of a state has changed without a new version; nil if they can.
  private func changedShape(in next: Catalog) -> ReloadError? {
    guard next.plugins.contains(where: { $0.manifest.state != nil }),
      let stored = try? StoredRules.read(from: services.context.store), stored.revision != next.source.revision,
      let last = try? CatalogBuilder.build(
        stored, configuration: next.configuration, previous: next, worker: lua, now: next.loadedAt)
    else { return nil }
    return next.changedShape(since: last)
  }

  // MARK: Keeping

  /// Keeps rules in the archives of all nodes, in this one's unless `origin` is nil as it has them; a failure is logged.
  func keep(_ catalog: Catalog, from origin: RevisionArchive.Origin?) {
    do throws(StoreError) {
      if let origin { try services.revisions.keep(catalog, from: origin) }
      try services.agreement?.distribute(catalog.revision)
    } catch {
      services.log.error("the sources of revision \(catalog.revision) can't be kept: \(error)")
    }
  }

  /// Keeps the steps back from the states that these rules store; a failure is logged.
  func keepSteps(of catalog: Catalog) {
    let context = services.context
    services.reloads.withStore {
      do throws(StoreError) { try context.steps.keep(catalog, in: context.store) } catch {
        context.log.error("the steps of revision \(catalog.revision) to earlier versions can't be kept: \(error)")
      }
    }
  }

  // MARK: In a cluster

  /// The rules in force of a cluster, as its log says, whatever the folder has; nil outside of a cluster, and before its first rules.
  private func logged(_ replacing: RulesInPlaceOfFolder?) throws(StartError) -> Catalog? {
    guard services.agreement != nil else { return nil }
    let live: RevisionArchive.Revision?
    do throws(StoreError) { live = try LiveRules.read(from: services.context.store) } catch {
      throw StartError("the rules in force can't be read from the node's store: \(error)")
    }
    guard let live else { return nil }
    do throws(ReloadError) {
      let catalog = try build(live, previous: nil)
      let origin: RulesOrigin =
        switch replacing?.reason {
        case .pinned: .pinned
        case .promoted: .promoted
        case nil: foreignFolder(beside: catalog) != nil ? .log : .folder
        }
      serve(catalog, as: origin)
      if origin == .log, let notice = origin.notice(catalog.revision) { services.log.warn(notice) }
      return catalog
    } catch {
      throw StartError(
        "revision \(live.entry.revision) is in force in the cluster and does not load on this node: let another node take over, and mend this one\n"
          + error.errors.map(\.description).joined(separator: "\n"))
    }
  }

  /// The revision of this node's folder if its rules and settings are not the ones in force; nil outside of a cluster.
  func foreignFolder(beside catalog: Catalog) -> String? {
    guard services.agreement != nil else { return nil }
    let folder = try? RulesFolder.read(services.configuration.rules).revision
    let isSame = folder == catalog.source.revision && services.configuration.plugins == catalog.configuration
    return isSame ? nil : folder ?? ""
  }

  /// Has the nodes of a cluster agree on rules, and makes them live in its log; does nothing outside of a cluster, or if they are live.
  ///
  /// Throws which node can't load them; then nothing has changed.
  func agreeAndCommit(_ catalog: Catalog) throws(ReloadError) {
    guard services.agreement != nil else { return }
    do throws(StoreError) {
      if try LiveRules.revision(in: services.context.store) == catalog.revision { return }
    } catch { throw ReloadError([LoadError(file: "", line: 0, error.description)]) }
    try agree(on: catalog)
    let set = WriteSet(capacity: 4096)
    LiveRules.put(.init(catalog, from: .folder), into: set)
    do throws(StoreError) {
      try services.useStore { () throws(StoreError) in try services.context.store.commit(set, durable: true) }
    } catch {
      throw ReloadError([LoadError(file: "", line: 0, "the rules can't come into force in the log: \(error)")])
    }
  }

  /// Waits until all live nodes of a cluster could load the rules; does nothing outside of a cluster.
  func agree(on catalog: Catalog) throws(ReloadError) {
    try services.agreement?.agree(on: catalog, while: isWaiting)
  }

  /// Whether to wait on for other nodes; the loader calls it meanwhile.
  func isWaiting() -> Bool {
    services.notifier.extendTimeout()
    if !services.reloads.isServing { services.notifier.watchdog() }
    return !services.reloads.isEnding
  }
}
