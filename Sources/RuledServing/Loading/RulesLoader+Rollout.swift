import RuledCore
import RuledEngine
import RuledReplay
import RuledStore
import RuledWire

/// Rollouts: other rules for a share of the subjects, for real.
extension RulesLoader {
  var isRollingOut: Bool { rollout?.stage == .running }

  func startRollout(_ params: RolloutStartParams) throws(RequestError) -> JSONValue {
    if isRollingOut { throw Self.conflict("a rollout of \(rollout?.candidate ?? "") runs: promote or abort it first") }
    if replacing?.reason == .pinned {
      throw Self.conflict("revision \(catalog.revision) is pinned: 'rulectl unpin' first, or make it the folder's")
    }
    let abortOn = try params.abortOn.map { text throws(RequestError) in try Self.condition(text) }
    let next = try buildCandidate(of: try UploadedRules.source(params.rules, services.uploads))
    guard next.revision != catalog.revision else {
      throw Self.conflict("these rules are those in force, \(catalog.revision): there is nothing to try")
    }
    let obstacle =
      ReloadError(next.badSettings, in: services.configuration.file) ?? next.changedShape(since: catalog)
      ?? services.context.steps.obstacle(toTrying: next, besides: catalog)
    if let obstacle { throw obstacle.requestError }
    try agree(on: next)
    // Both sides run the slow plugins.
    CatalogBuilder.prepare(next, worker: builder.lua, for: .init(services.workers.count))
    keep(next, from: .rollout)
    noteUse(of: next.revision, until: nil)
    let state = RolloutState(
      candidate: next.revision, since: services.context.clock.now, percent: params.percent, abortOn: abortOn,
      sides: (live: .init(catalog, from: .folder), candidate: .init(next, from: .rollout)))
    try store { () throws(StoreError) in try RolloutCounts.deleteAll(in: services.context.store) }
    try commit { state.put(into: $0) }
    candidate = next
    begin(next, state)
    services.log.info(
      "revision \(next.revision) is tried on \(JSONValue.shortest(params.percent).text) % of the subjects")
    return try rolloutStatus()
  }

  func buildCandidate(of source: RulesSource) throws(RequestError) -> Catalog {
    do throws(ReloadError) {
      return try builder.build(source, previous: catalog, checksFiles: true)
    } catch { throw error.requestError }
  }

  private static func condition(_ text: String) throws(RequestError) -> FailCondition {
    guard let condition = try? FailCondition(text), condition.measure == .failures else {
      throw .invalidParams(path: "params.abort_on", "must be like 'failures > 0.1%' or 'failures > 10'")
    }
    return condition
  }

  private static func conflict(_ reason: String) -> RequestError { RequestError(.reloadFailed, reason) }

  func setRollout(percent: Double) throws(RequestError) -> JSONValue {
    var state = try runningRollout()
    state.percent = percent
    let share = state.share
    try commit { state.put(into: $0) }
    rollout = state
    for worker in services.workers { _ = worker.send(.evaluate { $0.setRollout(share) }) }
    if let candidate { journal(candidate, state) }
    noteInStatus(state, candidate)
    services.log.info("revision \(state.candidate) is tried on \(JSONValue.shortest(percent).text) % of the subjects")
    return try rolloutStatus()
  }

  /// The status of the rollout that runs, or of the last one.
  func rolloutStatus() throws(RequestError) -> JSONValue {
    guard let rollout else { throw RequestError(.notFound, "no rollout has been started") }
    return rollout.json(services.rolloutCounts, besides: catalog)
  }

  func promoteRollout() throws(RequestError) -> JSONValue {
    var state = try runningRollout()
    guard let next = candidate, let sides = state.sides else { return .null }
    let folder = try? RulesFolder.read(path).revision
    let promoted = RulesInPlaceOfFolder(reason: .promoted(folder: folder ?? ""), revision: sides.candidate)
    let isInFolder = folder == next.source.revision
    state.end(.promoted, services.rolloutCounts)
    try commit { set in
      state.put(into: set)
      if services.agreement != nil { LiveRules.put(sides.candidate, into: set) }
      if isInFolder { RulesInPlaceOfFolder.delete(from: set) } else { promoted.put(into: set) }
    }
    replacing = isInFolder ? nil : promoted
    end(state)
    keep(next, from: .promoted)
    putInForce(next, as: isInFolder ? .folder : .promoted) { $0.endRollout(isPromoted: true) }
    forgetCounts()
    services.notifyStatus()
    services.log.info("revision \(next.revision) is promoted and serves all subjects")
    return .object(["revision": .string(next.revision), "folder": .string(path), "in_folder": .bool(isInFolder)])
  }

  /// Gives all subjects back to the live rules.
  func abortRollout(because reason: String) throws(RequestError) -> JSONValue {
    var state = try runningRollout()
    state.end(.aborted, services.rolloutCounts)
    state.reason = reason
    try commit { state.put(into: $0) }
    if let candidate { services.deferMessages(of: catalog.pluginsChanged(since: candidate)) }
    for worker in services.workers { _ = worker.send(.evaluate { $0.endRollout(isPromoted: false) }) }
    end(state)
    journal(catalog, state)
    noteUse(of: state.candidate, until: services.context.clock.now)
    forgetCounts()
    services.reloads.withStore { services.retryParked() }
    services.log.warn("the rollout of revision \(state.candidate) is aborted: \(reason)")
    services.reloads.request(.folder)
    return state.json(services.rolloutCounts)
  }

  func checkRollout() {
    guard let rollout, isRollingOut, let reason = rollout.excess(services.rolloutCounts) else { return }
    do throws(RequestError) { _ = try abortRollout(because: reason) } catch {
      services.log.error("the rollout can't be aborted, this is tried again: \(error)")
    }
  }

  private func runningRollout() throws(RequestError) -> RolloutState {
    guard let rollout, rollout.stage == .running else { throw RequestError(.notFound, "no rollout runs") }
    return rollout
  }

  func commit(_ body: (WriteSet) -> Void) throws(RequestError) {
    let set = WriteSet(capacity: 4096)
    body(set)
    try store { () throws(StoreError) in try services.context.store.commit(set, durable: true) }
  }

  /// Removes the stored counts of an ended rollout; leftovers of a failure go before the next one starts.
  private func forgetCounts() {
    try? store { () throws(StoreError) in try RolloutCounts.deleteAll(in: services.context.store) }
  }

  // MARK: Workers

  /// Has the workers decide by both sides; the subjects in `earlier` were counted before this process.
  func begin(_ next: Catalog, _ state: RolloutState, earlier: Set<UInt64> = []) {
    let share = state.share
    for figures in services.figures { figures.rollout.value = RolloutCounts() }
    for (index, worker) in services.workers.enumerated() {
      _ = worker.send(.evaluate { $0.beginRollout(of: next, on: share, worker: index, earlier: earlier) })
    }
    journal(next, state)
    var state = state
    state.times = RunTimes(besides: catalog).of(next)
    rollout = state
    noteInStatus(state, next)
    services.notifyStatus()
    if state.abortOn != nil { rolloutCheck?.start(after: Self.checkPeriod, every: Self.checkPeriod) }
  }

  /// Has the journal tell which rules are in force for the subjects of a rollout.
  private func journal(_ catalog: Catalog, _ state: RolloutState) {
    let event = state.journalEvent
    services.workers.first?.send(.evaluate { $0.journal(catalog, rollout: event) })
  }

  private func end(_ state: RolloutState) {
    rollout = state
    candidate = nil
    noteInStatus(state, nil)
    rolloutCheck?.stop()
  }

  /// Shows the rollout and the rules that it tries, once the workers have been told.
  private func noteInStatus(_ state: RolloutState, _ candidate: Catalog?) {
    services.status.noteRollout(state, candidate)
    _ = services.control.send(.rulesChanged)
  }

  /// How often the candidate's failures are counted, in milliseconds.
  private static let checkPeriod: UInt64 = 200

  // MARK: Shadows: rules that see live events beside the live rules, and change nothing

  /// How long a start waits for the end of the shadow before it, in milliseconds.
  private static let shadowTime = 5_000

  func startShadow(_ params: ShadowStartParams) throws(RequestError) -> JSONValue {
    guard let journal = services.journal else {
      throw RequestError(
        .unavailable, "a shadow follows the journal, which is off (journal.keep), or the store is in memory")
    }
    guard services.shadow.withLock({ $0 == nil }) else {
      throw RequestError(.reloadFailed, "a shadow runs: 'rulectl shadow stop' ends it")
    }
    guard services.stoppedShadow.withLock({ $0.shadow })?.stop(within: Self.shadowTime) != false else {
      throw RequestError(
        .unavailable,
        "the shadow that was stopped last has not ended, as this host gives it no processor; try again later")
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
    shadow.stop(within: 0)
    services.stoppedShadow.withLock { $0.shadow = shadow }
    services.shadow.withLock { $0 = nil }
    return shadow.status
  }
}
