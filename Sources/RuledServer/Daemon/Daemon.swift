import Glibc
import RuledCluster
package import RuledCore
import RuledEngine
package import RuledIO
import RuledJournal
import RuledPeers
import RuledStore
import RuledThreads

/// The daemon: opens the store, loads the rules, starts the threads, and serves until a signal ends it.
package final class Daemon {
  /// The configuration: that of the start, except for what was read again before the node's last change of roles.
  private var configuration: Configuration
  let log: any EventLog
  private let isManual: Bool
  let notifier = SystemdNotifier.fromEnvironment()
  private let signals = ProcessSignals()
  private var workers: [Thread] = []
  private var committer: Thread?
  private var outbox: Thread?
  private var loader: Thread?
  /// The server for HTTP clients, while the daemon serves.
  var web: HTTPServer?
  private var keeper: JournalKeeper?
  private let readConfiguration: ConfigurationReader
  var membership: ClusterMembership?
  var isStopping = false
  /// Whether a signal asked the daemon to end: then a node that is drained does not follow afterwards.
  var isEnding = false
  /// The sockets that new clients connect to, until the daemon ends.
  var sockets: DaemonSockets?

  /// A daemon that has not started.
  ///
  /// `readConfiguration` reads the configuration again for a reload.
  package init(
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
  package func run() throws(StartError) {
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
    let connections = try ProcessLimits.check(configuration) { log.write(LogLine(.warn, $0)) }
    sockets = try DaemonSockets(configuration, inherited: SocketActivation.inheritedSockets())
    while try serveOnce(workers: count, connections: connections) {}
  }

  /// Opens the store, serves, and closes it; gives whether the node of a cluster gave the log up and follows from then on.
  private func serveOnce(workers count: Int, connections: Int) throws(StartError) -> Bool {
    guard let sockets else { return false }
    let opening = StoreOpening(
      configuration, sockets: sockets, connections: connections, isManual: isManual, notifier: notifier,
      signals: signals, log: log, readConfiguration: readConfiguration)
    guard let opened = try opening.run() else { return false }
    let (store, journal) = (opened.store, opened.journal)
    configuration = opened.configuration
    membership = opened.membership
    let clock = try makeClock(store)
    let context = EngineContext(store: store, clock: clock, configuration: configuration, log: log)
    let services = Services(
      context: context, workers: count, notifier: notifier, connectionLimit: connections, bearerToken: sockets.token,
      journal: journal, membership: membership, agreement: membership?.agreement)
    let hub = WatchHub(spare: context.changeLogs)
    let commits = CommitPipeline(context: context, hub: hub, workers: services.workers)
    context.journals.store(journal != nil, ordering: .relaxed)
    context.workers.store(count, ordering: .relaxed)
    let catalog = try startLoader(services)
    services.warnOfUnknownNames(catalog)
    do {
      services.effectsAreHeld.store(try EffectsHold.isHeld(in: store), ordering: .relaxed)
      try StoredTime.resume(context)
      let last = try WatchSequence.read(from: context)
      hub.begin(after: last)
      if let journal { beginWatching(hub, after: last, journal) }
      commits.begin(with: try context.counters.load(from: context))
      try startCommitter(services, commits)
      services.countParked()
      services.countTimers()
      services.resumeMessages()
      try TopicListing.resume(context)
      keeper = services.journal.map { JournalKeeper($0, log: log) { clock.now } }
      try keeper?.start()
      try startWorkers(services, commits, catalog)
      try startOutbox(services)
      try serve(services, commits, catalog)
      if isHandingOver {
        try handOver(store, context)
        configuration = services.configuration
        return true
      }
      keeper?.end()
      if let membership, let loss = membership.lossError {
        try? store.close()
        membership.end()
        if isEnding { return false }
        throw StartError(
          "the daemon ends since it does not own the log of commits any more (\(loss)); start it again to follow the owner"
        )
      }
      if services.status.storeIsWell { try StoredTime.save(context) }
      try store.close()
      membership?.end()
      return false
    } catch let error as StartError {
      throw error
    } catch let error as StoreError {
      throw StartError("the store failed: \(error)")
    } catch {
      throw StartError("the daemon can't run: \(error)")
    }
  }

  // MARK: Giving the log of a cluster up

  /// Whether the node was told to give the log up, still owns it, and is to follow afterwards.
  var isHandingOver: Bool { !isEnding && (membership.map { $0.isDrained && $0.lossError == nil } ?? false) }

  /// Commits what is left, lets another node take the log over, and closes the store, so that this one can follow.
  private func handOver(_ store: any StateStore, _ context: EngineContext) throws {
    try StoredTime.save(context)
    membership?.end()
    log.write(LogLine(.info, "node \(configuration.cluster.node) has given the log of commits up, and follows it"))
    keeper?.end()
    try store.close()
    loader?.join()
    workers = []
    isStopping = false
  }

  // MARK: Starting

  /// Starts the thread that loads rules.
  ///
  /// Returns the rules that the daemon begins with.
  private func startLoader(_ services: Services) throws(StartError) -> Catalog {
    let readConfiguration = readConfiguration
    do throws(SystemError) {
      loader = try Thread.start(name: "ruled-loader") {
        RulesLoader.run(services, readConfiguration: readConfiguration)
      }
    } catch { throw StartError("the daemon can't run: \(error)") }
    return try services.reloads.awaitFirst()
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

  /// Lets watches go on after what was committed before this start.
  private func beginWatching(_ hub: WatchHub, after last: UInt64, _ journal: JournalService) {
    do throws(StoreError) { try hub.begin(after: last, changesOf: journal.source) } catch {
      log.write(
        LogLine(.warn, "watches get nothing from before this start, as the journal can't be read: \(error)"))
    }
  }

  private func startCommitter(_ services: Services, _ commits: CommitPipeline) throws(SystemError) {
    committer = try Thread.start(name: "ruled-commit") { Committer(services: services, commits: commits).run() }
  }

  /// Ends the process, which can't serve without one of its threads.
  ///
  /// Each acknowledged event is in the store.
  private static func endProcess(_ log: any EventLog, _ reason: String) -> Never {
    log.write(LogLine(.error, reason))
    _exit(2)
  }

  private func startOutbox(_ services: Services) throws(SystemError) {
    let log = log
    outbox = try Thread.start(name: "ruled-outbox") {
      do throws(SystemError) { try OutboxService(services: services).run() } catch {
        Self.endProcess(log, "the delivery of effects can't run: \(error)")
      }
    }
  }

  private func startWorkers(
    _ services: Services, _ commits: CommitPipeline, _ catalog: Catalog
  ) throws(SystemError) {
    let log = log
    let borrowable = services.workers.map { _ in BorrowableWorker() }
    for index in services.workers.indices {
      workers.append(
        try Thread.start(name: "ruled-\(index)") {
          do throws(SystemError) {
            try Worker(index: index, services: services, commits: commits, borrowable: borrowable, catalog: catalog)
              .run()
          } catch {
            Self.endProcess(log, "a worker can't run: \(error)")
          }
        })
    }
    services.workers.first?.send(.evaluate { $0.journal($0.catalog) })
  }

  // MARK: Serving

  private func serve(_ services: Services, _ commits: CommitPipeline, _ catalog: Catalog) throws(SystemError) {
    let loop = try EventLoop()
    var control: Control?
    let started = try Control(services: services, loop: loop) { [unowned self] in
      if let control { stop(services, commits, control, for: $0) }
    }
    control = started
    try startHTTP(services, commits, started)
    guard let lines = sockets?.lines else { return }
    var paths: [String] = []
    for descriptor in lines {
      let socket = try ListeningSocket(copying: descriptor)
      paths.append(socket.path ?? configuration.socket)
      try started.listen(socket)
    }
    try started.start(signals)
    notifier.ready(status: services.status.line)
    log.write(
      LogLine(
        .info,
        "serving on \(paths.joined(separator: ", ")), revision \(catalog.revision), \(catalog.plugins.count) plugins"))
    services.reloads.serve()
    membership?.whenOwnershipEnds { _ = services.control.send(.stop(.ownership)) }
    membership?.links?.serve { Self.adopt($2, for: $0, of: $1, services) }
    loop.run()
    started.close()
    control = nil
    for worker in workers { worker.join() }
    web?.stop()
    web = nil
    membership?.links?.awaitTunnels()
    committer?.join()
    outbox?.join()
    services.reloads.close()
    if let shadow = services.shadow.withLock({ $0 }) {
      log.write(LogLine(.info, "the shadow of revision \(shadow.rules.entry.revision) ends with the daemon"))
      shadow.stop()
    }
    loop.close()
  }

  /// Takes over a socket that speaks for the client of another node; false if nobody takes it any more.
  private static func adopt(_ descriptor: Int32, for client: PeerClient, of node: String, _ services: Services) -> Bool
  {
    switch client.listener {
    case .lines:
      let carried = CarriedClient(node: node, isAdmin: client.isAdmin, isCourier: client.isCourier)
      return services.control.send(.adopt(descriptor, for: carried))
    case .web: services.adoptWeb(descriptor, from: .node(node, isAdmin: client.isAdmin))
    case .api: services.adoptWeb(descriptor, from: .nodeWithoutCredentials(node, isVisitor: false))
    case .sites: services.adoptWeb(descriptor, from: .nodeWithoutCredentials(node, isVisitor: true))
    }
    return true
  }

  private func startHTTP(_ services: Services, _ commits: CommitPipeline, _ control: Control) throws(SystemError) {
    let server = try HTTPServer(services, commits)
    web = server
    try server.beginHeartbeats(on: control.loop)
    if let api = sockets?.api, let address = configuration.http.listen {
      try control.listen(try ListeningSocket(copying: api), forSites: false)
      log.write(LogLine(.info, "serving HTTP on \(address.text) too"))
      sockets?.token?.warnOfWeaknesses(log)
    }
    if let sites = sockets?.sites, let address = configuration.http.sites {
      try control.listen(try ListeningSocket(copying: sites), forSites: true)
      log.write(LogLine(.info, "serving the plugins' sites on \(address.text)"))
    }
  }
}
