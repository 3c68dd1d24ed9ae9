import Glibc
package import RuledCore
package import RuledEngine
package import RuledIO
package import RuledStore
import RuledThreads

/// The server of one store: loads the rules, starts the threads, and serves until a signal ends it, or until its node gives the log up.
package final class Server {
  let services: Services
  private let commits: CommitPipeline
  private let hub: WatchHub
  let sockets: DaemonSockets
  let signals: ProcessSignals
  private let readConfiguration: ConfigurationReader
  private var workers: [Thread] = []
  private var committer: Thread?
  private var outbox: Thread?
  private var loader: Thread?
  private var keeper: JournalKeeper?
  var web: HTTPServer?
  var isStopping = false
  /// Whether a signal asked the daemon to end: then a drained node does not follow afterwards.
  var isEnding = false

  var log: any EventLog { services.log }
  var member: (any ClusterMember)? { services.membership }

  /// A server that has not started, for an open store with its journal, if it has one, and for a node its part in the cluster.
  ///
  /// `workers` and `connections` are the most there can be; `readConfiguration` reads the configuration again for a reload.
  package init(
    _ store: any StateStore, clock: EngineClock, _ configuration: Configuration, journal: JournalService?,
    member: (any ClusterMember)?, sockets: DaemonSockets, workers count: Int, connections: Int,
    notifier: SystemdNotifier, signals: ProcessSignals, log: any EventLog,
    readConfiguration: @escaping ConfigurationReader
  ) {
    let context = EngineContext(store: store, clock: clock, configuration: configuration, log: log)
    services = Services(
      context: context, workers: count, notifier: notifier, connectionLimit: connections, bearerToken: sockets.token,
      journal: journal, membership: member)
    hub = WatchHub(spare: context.changeLogs)
    commits = CommitPipeline(context: context, hub: hub, workers: services.workers)
    self.sockets = sockets
    self.signals = signals
    self.readConfiguration = readConfiguration
    context.journals.store(journal != nil, ordering: .relaxed)
    context.workers.store(count, ordering: .relaxed)
  }

  /// Serves, and closes the store once every received request is answered and committed.
  ///
  /// Returns the configuration with which the node of a cluster follows from then on, and nil if the daemon ends.
  package func run() throws(StartError) -> Configuration? {
    let catalog = try startLoader()
    services.warnOfUnknownNames(catalog)
    do {
      try start(catalog)
      try serve(catalog)
      return try close() ? services.configuration : nil
    } catch let error as StartError {
      throw error
    } catch let error as StoreError {
      throw StartError("the store failed: \(error)")
    } catch { throw StartError("the daemon can't run: \(error)") }
  }

  /// Closes the store; returns whether the node has given the log up, so that another one can take it over, and is to follow.
  private func close() throws -> Bool {
    let context = services.context
    if isGivingUp, let member {
      try StoredTime.save(context)
      member.end()
      log.info("node \(member.name) has given the log of commits up, and follows it")
      keeper?.end()
      try context.store.close()
      loader?.join()
      return true
    }
    keeper?.end()
    if let member, let loss = member.lossError {
      try? context.store.close()
      member.end()
      if isEnding { return false }
      throw StartError(
        "the daemon ends since it does not own the log of commits any more (\(loss)); start it again to follow the owner"
      )
    }
    if services.status.storeIsWell { try StoredTime.save(context) }
    try context.store.close()
    member?.end()
    return false
  }

  /// Whether the node was told to give the log up, still owns it, and is to follow afterwards.
  var isGivingUp: Bool { !isEnding && (member.map { $0.isDrained && $0.lossError == nil } ?? false) }

  /// Starts the thread that loads rules.
  ///
  /// Returns the rules that the daemon begins with.
  private func startLoader() throws(StartError) -> Catalog {
    do throws(SystemError) {
      loader = try Thread.start(name: "ruled-loader") { [services, readConfiguration] in
        RulesLoader.run(services, readConfiguration: readConfiguration)
      }
    } catch { throw StartError("the daemon can't run: \(error)") }
    return try services.reloads.awaitFirst()
  }

  /// Starts the other threads, with the stored work of earlier processes.
  private func start(_ catalog: Catalog) throws {
    let context = services.context
    services.effectsAreHeld.store(try EffectsHold.isHeld(in: context.store), ordering: .relaxed)
    try StoredTime.resume(context)
    let last = try WatchSequence.last(in: context)
    hub.begin(after: last)
    if let journal = services.journal {
      // Watches go on after the commits before this start.
      do throws(StoreError) { try hub.begin(after: last, changesOf: journal.source) } catch {
        log.warn("watches get nothing from before this start, as the journal can't be read: \(error)")
      }
    }
    commits.begin(with: try context.counters.load(from: context))
    try context.boards.load(from: context)
    committer = try Thread.start(name: "ruled-commit") { [services, commits] in
      Committer(services: services, commits: commits).run()
    }
    services.countParked()
    services.deferMessages(of: Set(context.parkedCounts.all.keys))
    services.countTimers()
    services.resumeMessages()
    try TopicListing.resume(context)
    keeper = services.journal.map { JournalKeeper($0, log: log) { context.clock.now } }
    try keeper?.start()
    try startWorkers(catalog)
    try startOutbox()
    _ = try Thread.start(name: "ruled-archive", priority: .lowest) { [services, log] in
      services.revisions.review()
      for problem in services.revisions.problems { log.warn(problem) }
    }
  }

  /// Ends the process, which can't serve without one of its threads.
  ///
  /// Each acknowledged event is in the store.
  private static func endProcess(_ log: any EventLog, _ reason: String) -> Never {
    log.error(reason)
    log.end()
    _exit(2)
  }

  private func startOutbox() throws(SystemError) {
    outbox = try Thread.start(name: "ruled-outbox") { [services, log] in
      do throws(SystemError) { try OutboxService(services: services).run() } catch {
        Self.endProcess(log, "the delivery of effects can't run: \(error)")
      }
    }
  }

  private func startWorkers(_ catalog: Catalog) throws(SystemError) {
    let borrowable = services.workers.map { _ in BorrowableWorker() }
    for index in services.workers.indices {
      workers.append(
        try Thread.start(name: "ruled-\(index)") { [services, commits, log] in
          do throws(SystemError) {
            try Worker(index: index, services: services, commits: commits, borrowable: borrowable, catalog: catalog)
              .run()
          } catch { Self.endProcess(log, "a worker can't run: \(error)") }
        })
    }
    services.workers.first?.send(.evaluate { $0.journal($0.catalog) })
    services.retryParked()
  }

  /// Serves clients until the control thread's loop ends, and awaits the end of the other threads.
  private func serve(_ catalog: Catalog) throws(SystemError) {
    let loop = try EventLoop()
    var control: Control?
    let started = try Control(services: services, loop: loop) { [unowned self] in
      if let control { stop(commits, control, for: $0) }
    }
    control = started
    try startHTTP(started)
    var paths: [String] = []
    for descriptor in sockets.lines {
      let socket = try ListeningSocket(copying: descriptor)
      paths.append(socket.path ?? services.configuration.socket)
      try started.listen(socket)
    }
    try started.start(signals)
    services.notifier.ready(status: services.status.line)
    log.info(
      "serving on \(paths.joined(separator: ", ")), revision \(catalog.revision), \(catalog.plugins.count) plugins")
    services.reloads.serve()
    member?.whenOwnershipEnds { [services] in _ = services.control.send(.stop(.ownership)) }
    member?.receiveClients { [services] in services.adopt($0, for: $1) }
    loop.run()
    started.close()
    control = nil
    for worker in workers { worker.join() }
    web?.stop()
    web = nil
    member?.awaitClients()
    committer?.join()
    outbox?.join()
    services.reloads.close()
    let shadow = services.shadow.withLock { $0 }
    if let shadow { log.info("the shadow of revision \(shadow.revision) ends with the daemon") }
    for shadow in [shadow, services.stoppedShadow.withLock { $0.shadow }] {
      shadow?.stop(within: isEnding ? Self.shadowTime : nil)
    }
    loop.close()
  }

  private func startHTTP(_ control: Control) throws(SystemError) {
    let server = try HTTPServer(services, commits)
    web = server
    try server.beginHeartbeats(on: control.loop)
    let http = services.configuration.http
    if let api = sockets.api, let address = http.listen {
      try control.listen(try ListeningSocket(copying: api), forSites: false)
      log.info("serving HTTP on \(address.text) too")
      sockets.token?.warnOfWeaknesses(log)
    }
    if let sites = sockets.sites, let address = http.sites {
      try control.listen(try ListeningSocket(copying: sites), forSites: true)
      log.info("serving the plugins' sites on \(address.text)")
    }
  }

  // MARK: The end: received requests are answered first

  /// Stops accepting, waits until the workers have answered and committed all received requests, and then ends the threads.
  ///
  /// A signal may come while the node gives the log up: then it ends instead of following.
  func stop(_ commits: CommitPipeline, _ control: Control, for reason: StopReason) {
    if reason == .drained { return end(commits, control) }
    if reason == .signal { isEnding = true }
    if isGivingUp {
      guard !isStopping else { return }
      log.info("giving the log of commits up: received requests are answered first")
    } else if sockets.close() {  // new clients are refused; accepted ones have sockets of their own
      services.notifier.stopping()
      log.info("ending: received requests are answered first")
    }
    guard !isStopping else { return }
    isStopping = true
    control.stopAccepting()
    member?.refuseClients()
    services.reloads.end()
    services.outbox.mailbox.send(.endAllWaits)
    drain(control)
    do throws(SystemError) {
      try control.loop.timer(after: Self.loadingTime) { [services] in
        for caller in services.reloads.refuse() { services.reply(.failure(Reloads.ending), to: caller) }
      }
      try control.loop.timer(after: UInt64(Limits.shutdownTime / 1000) - 500) { [self] in
        end(commits, control)
      }
    } catch { end(commits, control) }
  }

  /// Lets the workers answer and commit all received requests, and then ends the threads.
  private func drain(_ control: Control) {
    let isGivingUp = isGivingUp
    let mailbox = services.control
    let drained = Cascade { [services] in
      services.outbox.stop(within: isGivingUp ? Self.handOverTime : Self.deliveryTime) {
        _ = mailbox.send(.stop(.drained))
      }
    }
    for worker in services.workers {
      drained.enter()
      _ = worker.send(.drain { drained.leave() })
    }
    drained.enter()
    if let web { web.drain(on: control.loop) { drained.leave() } } else { drained.leave() }
    drained.leave()
  }

  /// How long clients still wait for a load of rules, in milliseconds.
  private static let loadingTime: UInt64 = 1_000
  /// How long a process that ends waits for its shadow, in milliseconds.
  private static let shadowTime = 500
  /// How long deliveries in flight may take to end, in milliseconds.
  private static let deliveryTime: UInt64 = 3_000
  /// The same where another node waits for the log: it delivers the unfinished effects again.
  private static let handOverTime: UInt64 = 50

  private func end(_ commits: CommitPipeline, _ control: Control) {
    services.outbox.stop(within: 0)
    for worker in services.workers { _ = worker.send(.stop) }
    commits.stop()
    control.loop.stop()
  }
}
