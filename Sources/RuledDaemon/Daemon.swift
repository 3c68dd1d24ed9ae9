import RuledCluster
import RuledCore
import RuledEngine
import RuledIO
import RuledJournal
import RuledNodes
import RuledServing
import RuledStore

/// The daemon: opens the store and serves it until a signal ends it; a node of a cluster follows the log before, and after it gave it up.
package final class Daemon {
  /// The configuration: the start's, except for settings that were read again before the node's last change of roles.
  private(set) var configuration: Configuration
  let log: any EventLog
  let isManual: Bool
  let notifier = SystemdNotifier.fromEnvironment()
  let signals = ProcessSignals()
  let readConfiguration: ConfigurationReader

  /// A daemon that has not started.
  ///
  /// `readConfiguration` reads the configuration again for a reload.
  init(
    configuration: Configuration, manualClock: Bool, log: any EventLog,
    readConfiguration: @escaping @Sendable () throws(StartError) -> Configuration
  ) {
    self.configuration = configuration
    self.readConfiguration = readConfiguration
    self.log = log
    isManual = manualClock
  }

  /// Serves until SIGTERM or SIGINT.
  ///
  /// Returns once every received request is answered and committed.
  func run() throws(StartError) {
    do throws(StartError) { try serve() } catch {
      // The log of a node that ends again and again is on its own host alone.
      if case .postgresql(let url) = configuration.store {
        ClusterAdministration(ClusterStart(url, configuration, log: log).settings).note(
          error.description, of: configuration.cluster.node)
      }
      throw error
    }
  }

  private func serve() throws(StartError) {
    SystemCalls.ignoreBrokenPipes()
    let count = ProcessLimits.workers(configuration)
    let connections = try ProcessLimits.check(configuration) { log.warn($0) }
    let sockets = try DaemonSockets(configuration, inherited: SocketActivation.inheritedSockets())
    while try serve(on: sockets, workers: count, connections: connections) {}
  }

  /// Opens the store, serves, and closes it; gives whether the node of a cluster gave the log up and follows from then on.
  private func serve(on sockets: DaemonSockets, workers count: Int, connections: Int) throws(StartError) -> Bool {
    guard let opened = try openStore(sockets: sockets, connections: connections) else { return false }
    let server = Server(
      opened.store, clock: try makeClock(opened.store), opened.configuration, journal: opened.journal,
      member: opened.member, sockets: sockets, workers: count, connections: connections, notifier: notifier,
      signals: signals, log: log, readConfiguration: readConfiguration)
    guard let next = try server.run() else { return false }
    configuration = next
    return true
  }

  private func makeClock(_ store: any StateStore) throws(StartError) -> EngineClock {
    guard isManual else { return EngineClock() }
    do throws(StoreError) {
      return EngineClock(manual: try StoredClock.read(from: store) ?? EngineClock.wall)
    } catch {
      throw StartError(
        "where the manual clock stands can't be read from the store; restore a backup of it, or start without --clock manual: \(error)"
      )
    }
  }

  // MARK: Opening the store: a node of a cluster follows the log, and serves clients as a follower, until it owns it

  /// An open store with its journal, and a node's part in its cluster and its configuration, which it may have read again meanwhile.
  typealias Opened = (
    store: any StateStore, journal: JournalService?, member: (any ClusterMember)?, configuration: Configuration
  )

  /// Opens the configured store, while a follower serves up to `connections` clients on `sockets`; nil after a signal.
  func openStore(sockets: DaemonSockets, connections: Int) throws(StartError) -> Opened? {
    guard let path = configuration.storeFolder else {
      return (MemoryStore(), nil, nil, configuration)
    }
    let (store, journal) = try openFolder(path)
    guard case .postgresql(let url) = configuration.store else {
      try ClusterStart.leave(store, log)
      return (store, journal, nil, configuration)
    }
    let start = ClusterStart(url, configuration, log: log)
    switch try start.replace(store, notifier: notifier, signals: signals) {
    case .kept: return try follow(start, store, journal, sockets, connections)
    case .ended: return nil
    case .closed:
      let (store, journal) = try openFolder(path)
      return try follow(start, store, journal, sockets, connections)
    }
  }

  /// Opens the store on this host, with its journal.
  private func openFolder(_ path: String) throws(StartError) -> (RocksStore, JournalService?) {
    do throws(StoreError) {
      let kept = configuration.journal.isOn ? Journal(of: path, settings: configuration.journal) : nil
      kept?.takeTail(of: path)
      let store = try RocksStore(path: path, journal: kept)
      if kept == nil, SystemFiles().exists("\(path)/\(Journal.folderName)") {
        // The journal's records in the log go too: a later journal does not begin with them.
        try store.flushAll()
        try Journal.remove(of: path)
      }
      if let note = store.openingNote { log.warn(note) }
      _ = try StoreCheckpoints(of: path).removeAbandoned()
      kept?.start()
      // A copy that can't be removed only takes room.
      if let kept { try? StoreCopy.removeAll(in: kept.folder) }
      return (store, kept.map { JournalService($0, of: store) })
    } catch {
      throw StartError(error.description, isLasting: error.code == .corrupt || error.code == .newerFormat)
    }
  }

  /// Follows the log of a cluster until this node owns it; nil after a signal.
  private func follow(
    _ start: ClusterStart, _ store: RocksStore, _ journal: JournalService?, _ sockets: DaemonSockets, _ connections: Int
  ) throws(StartError) -> Opened? {
    try? StoreCopy.removeAll(in: store.path)
    let owner = try start.follow(
      store, journal, configuration, sockets, connections: connections, isManual: isManual, notifier: notifier,
      signals: signals, readConfiguration: readConfiguration)
    return owner.map { ($0.store, journal, $0.member, $0.configuration) }
  }
}
