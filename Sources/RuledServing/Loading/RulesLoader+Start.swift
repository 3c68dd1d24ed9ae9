import RuledEngine
import RuledIO
import RuledLua
import RuledStore

extension RulesLoader {
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

  /// Both sides of a rollout that runs, the pinned or promoted rules, the folder's, or the last good ones: the first of these that load.
  static func start(_ services: Services, _ lua: LuaWorker) throws(StartError) -> Start {
    let replacing = stored("the pinned rules", services) { () throws(StoreError) in
      try RulesInPlaceOfFolder.read(from: services.context.store)
    }
    var rollout = stored("the rollout", services) { () throws(StoreError) in
      try RolloutState.read(from: services.context.store)
    }
    if let sides = rollout?.sides {
      do throws(ReloadError) {
        let live = try build(sides.live, previous: nil, services, lua)
        let candidate = try build(sides.candidate, previous: live, services, lua)
        let isForeign = foreignFolder(beside: live, services) != nil
        services.status.serve(live, as: replacing != nil ? .promoted : isForeign ? .log : .folder)
        services.status.noteReload(isSuccess: true)
        let earlier = resume(&rollout, services)
        return Start(catalog: live, replacing: replacing, rollout: rollout, candidate: candidate, earlier: earlier)
      } catch {
        _ = resume(&rollout, services)
        rollout?.end(.aborted, RolloutCounts())
        rollout?.reason = "its rules did not load at a start: \(error.requestError.message)"
        services.log.error("the rollout is aborted, as its rules do not load: \(error.errors)")
      }
    }
    if let catalog = try logged(replacing, services, lua) {
      return Start(catalog: catalog, replacing: replacing, rollout: rollout)
    }
    if let replacing, let catalog = try restore(replacing, services, lua) {
      return Start(catalog: catalog, replacing: replacing, rollout: rollout)
    }
    return Start(catalog: try first(services, lua), rollout: rollout)
  }

  /// Adds an earlier process's counts of a rollout to its state; the result is the subjects among them.
  ///
  /// Counts that can't be read begin again, which is logged.
  private static func resume(_ rollout: inout RolloutState?, _ services: Services) -> Set<UInt64> {
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
  private static func stored<Value>(
    _ name: String, _ services: Services, _ read: () throws(StoreError) -> Value?
  ) -> Value? {
    do throws(StoreError) { return try read() } catch {
      services.log.error("\(name) can't be read from the store, the rules folder is read: \(error)")
      return nil
    }
  }

  // MARK: In a cluster

  /// The rules in force of a cluster, as its log says, whatever the folder has; nil outside of a cluster, and before its first rules.
  private static func logged(
    _ replacing: RulesInPlaceOfFolder?, _ services: Services, _ lua: LuaWorker
  ) throws(StartError) -> Catalog? {
    guard services.agreement != nil else { return nil }
    let live: RevisionArchive.Revision?
    do throws(StoreError) { live = try LiveRules.read(from: services.context.store) } catch {
      throw StartError("the rules in force can't be read from the node's store: \(error)")
    }
    guard let live else { return nil }
    do throws(ReloadError) {
      let catalog = try build(live, previous: nil, services, lua)
      let isForeign = foreignFolder(beside: catalog, services) != nil
      let origin: RulesOrigin =
        switch replacing?.reason {
        case .pinned: .pinned
        case .promoted: .promoted
        case nil: isForeign ? .log : .folder
        }
      services.status.serve(catalog, as: origin)
      services.status.noteReload(isSuccess: true)
      if origin == .log, let notice = origin.notice(catalog.revision) {
        services.log.warn(notice)
      }
      return catalog
    } catch {
      throw StartError(
        "revision \(live.entry.revision) is in force in the cluster and does not load on this node: let another node take over, and mend this one\n"
          + error.errors.map(\.description).joined(separator: "\n"))
    }
  }

  /// The revision of this node's folder if its rules and settings are not the ones in force; nil outside of a cluster.
  static func foreignFolder(beside catalog: Catalog, _ services: Services) -> String? {
    guard services.agreement != nil else { return nil }
    let folder = try? RulesFolder.read(services.configuration.rules).revision
    let isSame = folder == catalog.source.revision && services.configuration.plugins == catalog.configuration
    return isSame ? nil : folder ?? ""
  }

  /// Has the nodes of a cluster agree on rules, and makes them live in its log; does nothing outside of a cluster, or if they are live.
  ///
  /// Throws which node can't load them; then nothing has changed.
  static func agreeAndCommit(_ catalog: Catalog, _ services: Services) throws(ReloadError) {
    guard services.agreement != nil else { return }
    do throws(StoreError) {
      if try LiveRules.revision(in: services.context.store) == catalog.revision { return }
    } catch { throw ReloadError([LoadError(file: "", line: 0, error.description)]) }
    try agree(on: catalog, services)
    let set = WriteSet(capacity: 4096)
    LiveRules.put(.init(catalog, from: .folder), into: set)
    do throws(StoreError) {
      try services.useStore { () throws(StoreError) in try services.context.store.commit(set, durable: true) }
    } catch {
      throw ReloadError([LoadError(file: "", line: 0, "the rules can't come into force in the log: \(error)")])
    }
  }

  /// Waits until all live nodes of a cluster could load the rules; does nothing outside of a cluster.
  static func agree(on catalog: Catalog, _ services: Services) throws(ReloadError) {
    try services.agreement?.agree(on: catalog, while: isWaiting(services))
  }

  /// A function to call while the loader waits for other nodes; it returns whether to wait on.
  static func isWaiting(_ services: Services) -> () -> Bool {
    let (notifier, reloads) = (services.notifier, services.reloads)
    return {
      notifier.extendTimeout()
      if !reloads.isServing { notifier.watchdog() }
      return !reloads.isEnding
    }
  }

  /// Builds a revision with the configuration that it had.
  static func build(
    _ revision: RevisionArchive.Revision, previous: Catalog?, _ services: Services, _ lua: LuaWorker
  ) throws(ReloadError) -> Catalog {
    try build(revision.rules, revision.configuration, previous: previous, services, lua, at: revision.entry.loadedAt)
  }

  /// The catalog of rules in place of the folder's; nil when the folder has changed since, or they don't load.
  private static func restore(
    _ replacing: RulesInPlaceOfFolder, _ services: Services, _ lua: LuaWorker
  ) throws(StartError) -> Catalog? {
    if case .promoted(let folder) = replacing.reason,
      let source = try? RulesFolder.read(services.configuration.rules), source.revision != folder
    {
      do throws(StoreError) { try RulesInPlaceOfFolder.remove(from: services.context.store) } catch {
        throw StartError("the store failed: \(error)")
      }
      return nil
    }
    do throws(ReloadError) {
      let catalog = try build(replacing.revision, previous: nil, services, lua)
      services.status.serve(catalog, as: replacing.reason == .pinned ? .pinned : .promoted)
      services.status.noteReload(isSuccess: true)
      return catalog
    } catch {
      services.log.error("the pinned revision does not load, the rules folder is read instead: \(error.errors)")
      return nil
    }
  }
}
