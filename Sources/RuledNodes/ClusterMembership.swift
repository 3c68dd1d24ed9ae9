import RuledCluster
import RuledCore
import RuledEngine
import RuledIO
import RuledJournal
import RuledServing
import RuledStore
import RuledThreads
import RuledWire
import Synchronization

/// A daemon's membership in a cluster: its node, with the lease and the snapshots, and the end of the node's ownership of the log.
final class ClusterMembership: ClusterMember {
  /// How the node's ownership of the log ended.
  private struct End {
    /// Why the node lost the log; nil if it did not.
    var error: StoreError?
    var isDrained = false
    var handler: (@Sendable () -> Void)?
  }

  let node: ClusterNode
  let agreement: RulesAgreement
  let settings: ClusterSettings
  /// The node's connections with the others; nil if it has none.
  let links: NodeLinks?
  private let played: PlayedStore
  private let lease: Thread
  private let keeper: SnapshotKeeper?
  private let snapshots: Thread?
  let log: any EventLog
  /// Requests for the database, which may take seconds.
  private let requests = Errands(
    on: "ruled-cluster", most: 4,
    RequestError(.overloaded, "the database is being asked by others; try again", retryAfter: 500),
    "the database can't be asked")
  private let ownershipEnd = Mutex(End())

  /// Joins a cluster with the node's own store and its journal, and with `links` to the other nodes.
  ///
  /// Throws if the database can't be used as it is; if it can't be reached, the node waits for it.
  init(
    _ start: ClusterStart, store: RocksStore, journal: LiveJournal?, links: NodeLinks?, log: any EventLog
  ) throws(StartError) {
    self.log = log
    self.links = links
    settings = start.settings
    if settings.durability == .provider {
      let word = "the node takes the operator's word that the storage beneath its database replicates each write"
      log.info("durability = \"provider\": \(word)")
    }
    do throws(StoreError) {
      played = try PlayedStore(store)
      let node = ClusterNode(start.settings, identity: start.identity, played: played)
      self.node = node
      agreement = RulesAgreement(start.settings, node: node, store: store, log: log)
      if let error = try node.review() { log.warn("the node waits for its database: \(error)") }
    } catch { throw StartError("the node can't join its cluster: \(error)") }
    let keeper = start.snapshots.map { [node] settings in
      SnapshotKeeper(settings, node: node) { folder, last in
        // A node that starts from the snapshot gets the changes for watches with it; without them it is as good.
        try? journal?.writeTail(
          to: folder, through: last, count: Limits.watchHistory, byteCount: Limits.watchHistoryBytes)
      } report: { message, isProblem in
        log.write(LogLine(isProblem ? .warn : .info, message))
      }
    }
    self.keeper = keeper
    do throws(ThreadError) {
      let node = node
      lease = try Thread(name: "ruled-lease") { node.keepLease() }
      _ = try Thread(name: "ruled-confirm") { node.keepConfirmed() }
      if let keeper {
        snapshots = try Thread(name: "ruled-snapshot", priority: .lowest) { keeper.run() }
      } else {
        snapshots = nil
      }
    } catch { throw StartError("the daemon can't run: a thread can't be started (error \(error.number))") }
  }

  /// Lets the node's own store drop outcomes that have expired by the time in the log, as the owner's does.
  func expireOutcomes() {
    // If the time can't be read now, it can later.
    if let time = try? StoredTime.steady(in: played.store) { played.store.expire(before: time) }
  }

  /// The node's knowledge of the snapshots; nil without `cluster.snapshots`.
  var snapshotFigures: SnapshotFigures? { keeper?.figures }

  var problems: [StoreError] {
    let figures = node.figures
    return [figures.problem, figures.leaseProblem, figures.rulesProblem, snapshotFigures?.problem].compactMap { $0 }
  }

  /// The store of the node as the owner of the log, which `writer` writes.
  func store(writtenBy writer: LogWriter) -> any StateStore {
    log.info(
      "node \(node.identity.name) owns the log of commits, epoch \(writer.epoch ?? 0), sequence \(node.position.sequence)"
    )
    let node = node
    node.serve { [weak self] event in
      switch event {
      case .replaced(let error): self?.lose(error)
      case .drained: self?.drain()
      case .upgrade(let sentence): self?.log.info(sentence)
      }
    }
    return played.owned(by: writer, problem: { node.figures.leaseProblem }) { [weak self] error in
      self?.lose(error)
    }
  }

  func whenOwnershipEnds(_ handler: @escaping @Sendable () -> Void) {
    let isOver = ownershipEnd.withLock { end in
      end.handler = handler
      return end.error != nil || end.isDrained
    }
    if isOver { handler() }
  }

  private func lose(_ error: StoreError) {
    let (isFirst, handler) = ownershipEnd.withLock { end in
      defer { end.error = end.error ?? error }
      return (end.error == nil, end.handler)
    }
    guard isFirst else { return }
    log.error("node \(node.identity.name) serves no longer as the owner of the log: \(error)")
    handler?()
  }

  private func drain() {
    let handler = ownershipEnd.withLock { end in
      end.isDrained = true
      return end.handler
    }
    handler?()
  }

  var lossError: StoreError? { ownershipEnd.withLock { $0.error } }

  var isDrained: Bool { ownershipEnd.withLock { $0.isDrained } }

  // MARK: ClusterMember

  var name: String { node.identity.name }

  var rules: any ClusterRules { agreement }

  var leaseProblem: String? { node.figures.leaseProblem?.description }

  var snapshotProblem: String? { snapshotFigures?.problem?.description }

  var metrics: [UInt8] {
    let text = MetricsWriter()
    ClusterMetrics(membership: self).write(to: text)
    return text.text
  }

  func reloadIdentity() { links?.reloadIdentity() }

  func receiveClients(_ receiver: @escaping @Sendable (Int32, ClientAccess) -> Bool) {
    links?.serve { client, descriptor in receiver(descriptor, client) }
  }

  func refuseClients() { links?.stopAccepting() }

  func awaitClients() { links?.awaitTunnels() }

  func checkRead() throws(RequestError) {
    guard !node.hasLease else { return }
    throw RequestError(
      .unavailable, "the lease of this node is over, so that another one may own the log of commits by now; try again",
      retryAfter: 500)
  }

  func end() {
    keeper?.stop()
    snapshots?.join()
    node.stop()
    lease.join()
    links?.stop()
  }

  // MARK: Requests about the cluster

  func answer(_ params: ClusterParams, then: @escaping @Sendable (Result<JSONValue, RequestError>) -> Void) {
    requests.run({ [self] in execute(params) }, then: then)
  }

  private func execute(_ params: ClusterParams) -> Result<JSONValue, RequestError> {
    let administration = ClusterAdministration(settings)
    let result: Result<ClusterOverview, RequestError>
    let news: String
    do throws(StoreError) {
      switch params {
      case .show: return .success(json(try administration.overview()))
      case .undrain(let name):
        result = try administration.undrain(name)
        news = "node \(name) may own the log of commits again"
      case .drain(let name, let force):
        result = try administration.drain(name, force: force)
        news = "node \(name) is drained: it does not own the log of commits until 'rulectl cluster undrain'"
      }
    } catch { return .failure(RequestError(.unavailable, "the database of the cluster can't be asked: \(error)")) }
    if case .success = result { log.info(news) }
    return result.map(json)
  }

  private func json(_ cluster: ClusterOverview) -> JSONValue {
    .object([
      "node": .string(node.identity.name),
      "owner": cluster.owner.map { .string($0.identity.name) } ?? .null,
      "nodes": .array(cluster.nodes.map { Self.json($0) }),
      "log": .object([
        "epoch": .integer(cluster.epoch), "sequence": .integer(cluster.sequence),
        "bytes": .integer(cluster.database.bytes),
      ]),
      "database": Self.json(cluster.database),
    ])
  }

  private static func json(_ database: ClusterOverview.Database) -> JSONValue {
    .object([
      "primary": .string(database.primary), "version": .string(database.version), "bytes": .integer(database.bytes),
      "standbys": .array(
        database.standbys.map {
          .object([
            "name": .string($0.name), "address": .string($0.address), "state": .string($0.state),
            "sync": .string($0.sync),
          ])
        }),
      "synchronous_commit": .string(database.synchronousCommit),
      "synchronous_standby_names": .string(database.synchronousStandbys),
      "promise": .string(database.promise),
      "problem": database.problem.map { .string($0) } ?? .null,
    ])
  }

  private static func json(_ node: ClusterOverview.Node) -> JSONValue {
    .object([
      "name": .string(node.identity.name), "address": .string(node.identity.address),
      "role": .string(node.role.rawValue), "drained": .bool(node.isDrained), "lease_left_ms": .integer(node.leaseLeft),
      "sequence": .integer(node.sequence), "behind": .integer(node.behind), "version": .string(node.version),
      "process": .string(node.identity.incarnation), "problem": node.problem.isEmpty ? .null : .string(node.problem),
    ])
  }
}
