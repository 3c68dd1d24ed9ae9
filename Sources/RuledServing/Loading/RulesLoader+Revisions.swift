import RuledCore
import RuledEngine
import RuledStore

/// Revisions: listing, showing, going back to an earlier one, and keeping it in force.
extension RulesLoader {
  /// Executes a method and replies to the clients that have called it.
  func execute(_ task: RulesTask, for callers: [ControlCaller]) {
    let result = Result { () throws(RequestError) in
      if services.reloads.isEnding { throw Reloads.ending }
      return switch task {
      case .revisions: JSONValue.array(services.revisions.entries.reversed().map(description))
      case .revision(let revision): try show(revision)
      case .rollback(let revision): try rollBack(to: revision)
      case .unpin: try unpin()
      case .folder(let node): try takeFolder(of: node)
      case .rolloutStart(let params): try startRollout(params)
      case .rolloutSet(let percent): try setRollout(percent: percent)
      case .rolloutStatus: try rolloutStatus()
      case .rolloutPromote: try promoteRollout()
      case .shadowStart(let params): try startShadow(params)
      case .shadowStatus: try runningShadow().status
      case .shadowStop: try stopShadow()
      case .rolloutAbort: try abortRollout(because: "an administrator aborted it")
      }
    }
    for caller in callers { services.reply(result, to: caller) }
  }

  private func description(_ entry: RevisionArchive.Entry) -> JSONValue {
    .object([
      "revision": .string(entry.revision), "loaded_at": .string(entry.loadedAt.rfc3339),
      "live": .bool(entry.revision == catalog.revision),
      "pinned": .bool(replacing?.reason == .pinned && replacing?.revision.entry.revision == entry.revision),
      "source": .string(entry.origin.rawValue), "changed": .array(entry.changed.map { .string($0) }),
    ])
  }

  private func show(_ revision: String) throws(RequestError) -> JSONValue {
    let found = try load(revision)
    var object = description(found.entry).objectValue ?? JSONObject()
    for member in RevisionDocument.files(of: found).objectValue ?? [:] { object[member.name] = member.value }
    return .object(object)
  }

  /// An archived revision; `not_found` when it is not kept.
  func load(_ revision: String) throws(RequestError) -> RevisionArchive.Revision {
    do throws(StoreError) { return try services.revisions.load(revision) } catch {
      throw RequestError(error.code == .refused ? .notFound : .unavailable, error.description)
    }
  }

  private func rollBack(to wanted: String?) throws(RequestError) -> JSONValue {
    if isRollingOut {
      throw RequestError(.reloadFailed, "a rollout of \(rollout?.candidate ?? "") runs: promote or abort it first")
    }
    guard let revision = wanted ?? services.revisions.predecessor(of: catalog.revision)?.revision else {
      throw RequestError(.notFound, "no revision is kept that was in force before \(catalog.revision)")
    }
    let found = try load(revision)
    let next: Catalog
    do throws(ReloadError) { next = try builder.build(found, previous: catalog) } catch {
      throw error.requestError
    }
    if let obstacle = services.context.steps.obstacle(to: next) { throw obstacle.requestError }
    let pinned = RulesInPlaceOfFolder(reason: .pinned, revision: found)
    try agree(on: next)
    try commit { set in
      pinned.put(into: set)
      if services.agreement != nil { LiveRules.put(found, into: set) }
    }
    replacing = pinned
    let hasChanged = next.revision != catalog.revision
    if hasChanged { putInForce(next, as: .pinned) }
    services.status.reloadErrors = nil
    services.status.serve(catalog, as: .pinned)
    services.notifyStatus()
    services.log.warn("revision \(revision) is pinned: the rules folder is not read until 'rulectl unpin'")
    return .object(["revision": .string(revision), "changed": .bool(hasChanged), "pinned": true])
  }

  private func unpin() throws(RequestError) -> JSONValue {
    guard replacing?.reason == .pinned else { throw RequestError(.notFound, "no revision is pinned") }
    try store { () throws(StoreError) in try RulesInPlaceOfFolder.remove(from: services.context.store) }
    replacing = nil
    services.log.info("revision \(catalog.revision) is no longer pinned")
    services.status.serve(catalog)
    let result = reload()
    services.status.noteReload(isSuccess: (try? result.get()) != nil)
    services.notifyStatus()
    do throws(ReloadError) {
      return .object(["changed": .bool(try result.get()), "revision": .string(catalog.revision)])
    } catch { throw error.requestError }
  }

  /// Runs `body`, which uses the store; `unavailable` when it fails, or when the store is closed.
  func store(_ body: () throws(StoreError) -> Void) throws(RequestError) {
    do throws(StoreError) { try services.useStore(body) } catch { throw RequestError(.unavailable, error.description) }
  }

  // MARK: In a cluster

  /// Has the other nodes of a cluster load rules that are not live yet.
  func agree(on next: Catalog) throws(RequestError) {
    guard next.revision != catalog.revision else { return }
    do throws(ReloadError) { try builder.agree(on: next) } catch { throw error.requestError }
  }

  // MARK: Keeping

  /// Keeps the rules that come into force; a failure is logged, and the rules come into force all the same.
  func keep(_ catalog: Catalog, from origin: RevisionArchive.Origin) {
    builder.keep(catalog, from: origin)
    builder.keepSteps(of: catalog)
    let inForce = [self.catalog, catalog, candidate].map { $0?.revision } + [replacing?.revision.entry.revision]
    do throws(StoreError) {
      try services.revisions.removeUnneeded { inForce.contains($0) || journalMayName($0) }
    } catch { services.log.warn("an old revision can't be removed: \(error)") }
  }

  private func journalMayName(_ revision: String) -> Bool {
    guard let journal = services.journal else { return false }
    guard let since = journal.journal.summary.since else { return true }
    return services.revisions.mayHaveDecided(revision, since: since)
  }

  /// Notes until when a revision was in force, nil from now on; a failure is logged.
  func noteUse(of revision: String, until: Timestamp?) {
    do throws(StoreError) { try services.revisions.noteUse(of: revision, until: until) } catch {
      services.log.warn("when revision \(revision) was in force can't be kept: \(error)")
    }
  }
}
