package import RuledCluster
package import RuledCore
import RuledEngine
package import RuledIO
import RuledJournal
package import RuledServing
package import RuledStore
import RuledThreads

/// The settings of a daemon as a node of a cluster, and its start from a snapshot.
package struct ClusterStart {
  package let settings: ClusterSettings
  package let identity: NodeIdentity
  /// The storage of the cluster's snapshots; nil if this node has none.
  let snapshots: SnapshotSettings?
  private let log: any EventLog

  package init(_ url: String, _ configuration: Configuration, log: any EventLog) {
    self.log = log
    var settings = ClusterSettings(url: url)
    settings.lease = Int(configuration.cluster.lease / 1000)
    settings.durability = configuration.durability
    settings.version = Version.current
    self.settings = settings
    identity = NodeIdentity(
      name: configuration.cluster.node, address: configuration.cluster.address,
      listen: configuration.cluster.tunnel?.listen.description ?? "")
    let every = configuration.cluster.snapshotEvery
    snapshots = configuration.cluster.snapshots.map { SnapshotSettings($0, every: every) }
  }

  /// Turns the store of a former node into one of a daemon outside of a cluster; does nothing for any other store.
  package static func leave(_ store: RocksStore, _ log: any EventLog) throws(StartError) {
    do throws(StoreError) {
      guard try PlayedStore.leaveCluster(store) else { return }
    } catch { throw StartError("the store can't be used: \(error)") }
    log.warn(
      "the store at \(store.path) was a node's of a cluster: this daemon goes on with it alone, and no node can use it again"
    )
  }

  /// The state of a node's own store afterwards.
  package enum Outcome {
    /// It was kept, and is still open.
    case kept
    /// It was closed, and possibly replaced: it has to be opened again.
    case closed
    /// It was closed because a signal asks the daemon to end.
    case ended
  }

  /// Closes a store that is empty or behind the log and replaces it with a snapshot, unless a signal interrupts the copy.
  package func replace(
    _ store: RocksStore, notifier: SystemdNotifier, signals: ProcessSignals
  ) throws(StartError) -> Outcome {
    do {
      try snapshots?.review()
      guard let need = try start({ false }).need(of: store) else { return .kept }
      let path = store.path
      try store.close()
      return try run(need, path: path, notifier, signals) ? .closed : .ended
    } catch { throw StartError("the node can't join its cluster: \(error)") }
  }

  /// A node that owns the log: the store that commits to the log, the node's part in the cluster, and the configuration, which may have been
  /// read again meanwhile.
  package typealias Owner = (store: any StateStore, member: any ClusterMember, configuration: Configuration)

  /// Follows the log with the node's own store, and serves clients as a follower, until the node owns the log; nil after a signal.
  package func follow(
    _ store: RocksStore, _ journal: JournalService?, _ configuration: Configuration, _ sockets: DaemonSockets,
    connections: Int, isManual: Bool, notifier: SystemdNotifier, signals: ProcessSignals,
    readConfiguration: @escaping ConfigurationReader
  ) throws(StartError) -> Owner? {
    let links = try configuration.cluster.tunnel.map { (tunnel) throws(StartError) in
      try NodeLinks(configuration.cluster.node, tunnel, connections: connections, log: log)
    }
    let membership = try ClusterMembership(self, store: store, journal: journal?.source, links: links, log: log)
    log.info("node \(configuration.cluster.node) follows the log of commits")
    // The journal of a follower grows, too, and has entries of forgotten subjects.
    let keeper = journal.map {
      JournalKeeper($0, log: log) { (isManual ? try? StoredClock.read(from: store) : nil) ?? EngineClock.wall }
    }
    do throws(SystemError) { try keeper?.start() } catch { throw StartError("the daemon can't run: \(error)") }
    var current = configuration
    let writer = try StandbyServer.run(
      membership, &current, sockets, journal, connections: connections, notifier: notifier,
      signals: signals, readConfiguration: readConfiguration)
    keeper?.end()
    guard let writer else {
      membership.end()
      return nil
    }
    return (membership.store(writtenBy: writer), membership, current)
  }

  private func start(_ isInterrupted: @escaping () -> Bool) -> SnapshotStart {
    SnapshotStart(settings, snapshots: snapshots, identity: identity, isInterrupted: isInterrupted) {
      message, isProblem in
      log.write(LogLine(isProblem ? .warn : .info, message))
    }
  }

  /// Runs the start on a thread, while this one waits for signals; returns false after a signal.
  private func run(
    _ need: SnapshotStart.Need, path: String, _ notifier: SystemdNotifier, _ signals: ProcessSignals
  ) throws -> Bool {
    let loop = try EventLoop()
    let (isInterrupted, problem) = (Shared(false), Shared<StoreError?>(nil))
    let ended = Mailbox<Bool>()
    try ended.attach(to: loop) { _ in loop.stop() }
    let signalPoll = try signals.attach(to: loop) { signal in
      if signal != .hangUp { isInterrupted.value = true }
    }
    let watchdog = try notifier.watchdogTimer(on: loop) { notifier.watchdog() }
    let thread = try Thread(name: "ruled-start") {
      do throws(StoreError) {
        try start({ isInterrupted.value }).run(need, path: path, journal: Journal.folderName)
      } catch { problem.value = error }
      _ = ended.send(true)
    }
    notifier.ready(status: "starting from a snapshot")
    loop.run()
    watchdog?.close()
    signalPoll.close()
    ended.close()
    thread.join()
    loop.close()
    if let problem = problem.value {
      guard problem.code != .interrupted else { return false }
      throw problem
    }
    return true
  }
}
