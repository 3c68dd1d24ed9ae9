import RuledCluster
import RuledCore
import RuledEngine
import RuledIO
import RuledStore
import RuledThreads
import Synchronization

/// The settings of a daemon as a node of a cluster, and its start from a snapshot.
struct ClusterStart {
  /// How the node uses the database.
  let settings: ClusterSettings
  /// The node's name and this process.
  let identity: NodeIdentity
  /// Where the cluster's snapshots are; nil if this node has none.
  let snapshots: SnapshotSettings?
  private let log: any EventLog

  /// The node that the configuration describes, over the database at `url`.
  init(_ url: String, _ configuration: Configuration, log: any EventLog) {
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

  /// Turns the store of a former node into that of a daemon outside of a cluster; does nothing for any other store.
  static func leave(_ store: RocksStore, _ log: any EventLog) throws(StartError) {
    do throws(StoreError) {
      guard try PlayedStore.leaveCluster(store) else { return }
    } catch { throw StartError("the store can't be used: \(error)") }
    log.write(
      LogLine(
        .warn,
        "the store at \(store.path) was a node's of a cluster: this daemon goes on with it alone, and no node can use it again"
      ))
  }

  /// What happened to a node's own store.
  enum Outcome {
    /// It was kept, and is still open.
    case kept
    /// It was closed, and possibly replaced: it has to be opened again.
    case closed
    /// It was closed because a signal asks the daemon to end.
    case ended
  }

  /// Closes a store that is empty or behind the log and replaces it with a snapshot, unless a signal interrupts that.
  func replace(
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
    let flow = Flow()
    let ended = Mailbox<Bool>()
    try ended.attach(to: loop) { _ in loop.stop() }
    let signalPoll = try signals.attach(to: loop) { signal in
      if signal != .hangUp { flow.isInterrupted.store(true, ordering: .relaxed) }
    }
    let watchdog = try notifier.watchdogTimer(on: loop) { notifier.watchdog() }
    let thread = try Thread(name: "ruled-start") {
      do throws(StoreError) {
        try start({ flow.isInterrupted.load(ordering: .relaxed) }).run(need, path: path)
      } catch { flow.problem.withLock { $0 = error } }
      _ = ended.send(true)
    }
    notifier.ready(status: "starting from a snapshot")
    loop.run()
    watchdog?.close()
    signalPoll.close()
    ended.close()
    thread.join()
    loop.close()
    if let problem = flow.problem.withLock({ $0 }) {
      guard problem.code != .interrupted else { return false }
      throw problem
    }
    return true
  }

  /// What the two threads share.
  private final class Flow: Sendable {
    let isInterrupted = Atomic(false)
    let problem = Mutex<StoreError?>(nil)
  }
}
