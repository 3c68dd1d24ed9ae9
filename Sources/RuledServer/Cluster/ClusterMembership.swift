import RuledCluster
import RuledCore
import RuledEngine
import RuledStore
import RuledThreads
import Synchronization

/// A daemon's part in a cluster, from its start to its end: the node that renews its lease, and what happens when it loses the log.
final class ClusterMembership: Sendable {
  private struct Loss {
    var error: StoreError?
    var handler: (@Sendable () -> Void)?
  }

  /// The node.
  let node: ClusterNode
  private let played: PlayedStore
  private let lease: Thread
  private let log: any EventLog
  private let loss = Mutex(Loss())

  /// Joins the cluster of the database at `url`, with the node's own store.
  ///
  /// Throws if the database can't be used as it is; one that can't be reached is waited for.
  init(_ url: String, _ configuration: Configuration, store: RocksStore, log: any EventLog) throws(StartError) {
    self.log = log
    var settings = ClusterSettings(url: url)
    settings.lease = Int(configuration.cluster.lease / 1000)
    settings.allowsPrimary = configuration.durability == .primary
    let identity = NodeIdentity(name: configuration.cluster.node, address: configuration.cluster.address)
    do throws(StoreError) {
      played = try PlayedStore(store)
      let node = ClusterNode(settings, identity: identity, played: played)
      self.node = node
      if let error = try node.review() { log.write(LogLine(.warn, "the node waits for its database: \(error)")) }
    } catch { throw StartError("the node can't join its cluster: \(error)") }
    do throws(ThreadError) {
      let node = node
      lease = try Thread(name: "ruled-lease") { node.keepLease() }
    } catch { throw StartError("the daemon can't run: a thread can't be started (error \(error.number))") }
  }

  /// The store of the node once it owns the log, which `writer` writes.
  func store(writtenBy writer: LogWriter) -> ClusterStore {
    log.write(
      LogLine(
        .info,
        "node \(node.identity.name) owns the log of commits, epoch \(writer.epoch ?? 0), sequence \(node.position.sequence)"
      ))
    let node = node
    return ClusterStore(played, writer: writer, problem: { node.figures.leaseProblem }) { [weak self] error in
      self?.lose(error)
    }
  }

  /// Calls `handler` when the node loses the log, at once if it has.
  func whenLost(_ handler: @escaping @Sendable () -> Void) {
    let isLost = loss.withLock { loss in
      loss.handler = handler
      return loss.error != nil
    }
    if isLost { handler() }
  }

  private func lose(_ error: StoreError) {
    log.write(LogLine(.error, "node \(node.identity.name) serves no longer as the owner of the log: \(error)"))
    let handler = loss.withLock { loss in
      loss.error = error
      return loss.handler
    }
    handler?()
  }

  /// Why the node lost the log; nil while it has not.
  var lossError: StoreError? { loss.withLock { $0.error } }

  /// Gives the lease back, so that another node takes over at once.
  func end() {
    node.stop()
    lease.join()
  }
}
