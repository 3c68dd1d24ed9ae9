import CLinux
import Glibc
package import RuledCore
package import RuledEngine
import RuledLua
import RuledStore

/// The daemon: opens the store, loads the rules, starts the threads, serves until it is told to end.
package final class Daemon {
  private let configuration: Configuration
  private let log: any EventLog
  private let isManual: Bool
  private let notifier = SystemdNotifier.take()
  private var workers: [WorkerThread] = []
  private var committer: WorkerThread?
  private var outbox: WorkerThread?
  private let readConfiguration: () throws(StartError) -> Configuration
  private var isStopping = false
  private var loopback: Int32?
  private var token: BearerToken?

  /// A daemon that is configured and not yet started.
  ///
  /// When it is told to reload, `readConfiguration` reads the configuration again.
  package init(
    configuration: Configuration, manualClock: Bool, log: any EventLog,
    readConfiguration: @escaping () throws(StartError) -> Configuration
  ) {
    self.configuration = configuration
    self.readConfiguration = readConfiguration
    self.log = log
    isManual = manualClock
  }

  /// Serves until SIGTERM or SIGINT; returns once all that was taken is answered and committed.
  package func run() throws(StartError) {
    SystemCalls.ignoreBrokenPipes()
    let socket = try listen()
    try listenOnLoopback()
    let store = try openStore()
    let clock = isManual ? EngineClock(manual: KeptClock.read(from: store) ?? EngineClock.wall) : EngineClock()
    let context = EngineContext(store: store, clock: clock, configuration: configuration, log: log)
    let services = Services(
      context: context, workers: configuration.workers > 0 ? configuration.workers : Int(cl_processors()),
      notifier: notifier)
    let lua = LuaWorker()
    let catalog = try loadRules(services, lua)
    ConfigurationReview.warn(log, configuration, services.admins, catalog)
    do {
      services.hub.begin(after: try WatchSequence.read(from: store))
      services.commits.begin(with: try context.counters.load(from: store))
      try startCommitter(services)
      services.takeUpMessages()
      try startWorkers(services, catalog)
      try startOutbox(services)
      try serve(services, catalog, lua, socket)
      try store.close()
    } catch let error as StoreError {
      throw StartError("the store failed: \(error)")
    } catch {
      throw StartError("the daemon can't run: \(error)")
    }
  }

  // MARK: Starting

  private func listen() throws(StartError) -> ListeningSocket {
    do throws(SystemError) {
      if let inherited = try SocketActivation.take() { return inherited }
    } catch { throw StartError("the socket that systemd handed over can't be used: \(error)") }
    do throws(ListenError) {
      return try ListeningSocket(path: configuration.socket)
    } catch { throw StartError(error.description) }
  }

  private func listenOnLoopback() throws(StartError) {
    guard let address = configuration.http.listen, let file = configuration.http.tokenFile else { return }
    token = try BearerToken(file: file)
    do throws(SystemError) { loopback = try LoopbackSocket.listen(address) } catch {
      throw StartError("http.listen '\(address.text)' can't be listened on: \(error)")
    }
  }

  private func openStore() throws(StartError) -> any StateStore {
    switch configuration.store {
    case .memory: return MemoryStore()
    case .rocksdb(let path):
      do throws(StoreError) { return try RocksStore(path: path) } catch { throw StartError(error.description) }
    }
  }

  /// The rules in the folder, or the last good ones when those don't load.
  private func loadRules(_ services: Services, _ lua: LuaWorker) throws(StartError) -> Catalog {
    let now = services.context.clock.now
    let problem: ReloadError
    do throws(ReloadError) {
      let source = try RulesFolder.read(configuration.rules)
      let catalog = try CatalogBuilder.build(
        source, configuration: configuration.plugins, previous: nil, worker: lua, now: now)
      KeptRules.keep(source, in: services.context.store)
      services.status.serve(catalog)
      return catalog
    } catch { problem = error }
    let reasons = problem.errors.map(\.description).joined(separator: "\n")
    guard let kept = KeptRules.read(from: services.context.store) else {
      throw StartError("the rules do not load, and no earlier revision is kept to serve instead:\n\(reasons)")
    }
    do throws(ReloadError) {
      let catalog = try CatalogBuilder.build(
        kept, configuration: configuration.plugins, previous: nil, worker: lua, now: now)
      services.status.reload(problem)
      services.status.serve(catalog, kept: true)
      log.write(LogLine(.error, "the rules do not load, the last good revision \(catalog.revision) serves: \(reasons)"))
      return catalog
    } catch {
      throw StartError("neither the rules nor the revision kept last load:\n\(reasons)")
    }
  }

  private func startCommitter(_ services: Services) throws(SystemError) {
    committer = try WorkerThread(name: "ruled-commit") { Committer(services: services).run() }
  }

  private func startOutbox(_ services: Services) throws(SystemError) {
    let log = log
    outbox = try WorkerThread(name: "ruled-outbox") {
      do throws(SystemError) { try OutboxService(services: services).run() } catch {
        log.write(LogLine(.error, "the delivery of effects ended: \(error)"))
        abort()
      }
    }
  }

  private func startWorkers(_ services: Services, _ catalog: Catalog) throws(SystemError) {
    let log = log
    for index in services.workers.indices {
      workers.append(
        try WorkerThread(name: "ruled-\(index)") {
          do throws(SystemError) { try Worker(index: index, services: services, catalog: catalog).run() } catch {
            log.write(LogLine(.error, "a worker ended: \(error)"))
            abort()
          }
        })
    }
  }

  // MARK: Serving

  private func serve(
    _ services: Services, _ catalog: Catalog, _ lua: LuaWorker, _ socket: consuming ListeningSocket
  ) throws(SystemError) {
    let loop = try EventLoop()
    var control: Control?
    let begun = try Control(
      services: services, loop: loop, rulesPath: configuration.rules, lua: lua, catalog: catalog,
      readConfiguration: readConfiguration
    ) { [unowned self] in
      if let control { stop(services, control) }
    }
    control = begun
    try startHTTP(services, begun)
    try begun.start(listening: socket)
    notifier.ready(status: services.status.line)
    log.write(
      LogLine(
        .info, "serving on \(configuration.socket), revision \(catalog.revision), \(catalog.plugins.count) plugins"))
    loop.run()
    begun.close()
    control = nil
    for worker in workers { worker.join() }
    services.stopHTTP()
    committer?.join()
    outbox?.join()
    loop.close()
  }

  private func startHTTP(_ services: Services, _ control: Control) throws(SystemError) {
    try services.startHTTP(token: token, on: control.loop)
    guard let loopback, let address = configuration.http.listen else { return }
    try control.listen(try ListeningSocket(inheriting: loopback))
    log.write(LogLine(.info, "serving HTTP on \(address.text) too"))
  }

  /// Stops accepting, lets the workers answer and commit what they have, and then ends the threads.
  private func stop(_ services: Services, _ control: Control) {
    guard !isStopping else { return }
    isStopping = true
    notifier.stopping()
    log.write(LogLine(.info, "ending: what has been received is answered first"))
    control.stopAccepting()
    let mailbox = services.control
    let drained = Cascade {
      services.outbox.stop(within: Self.deliveryTime) { _ = mailbox.send(.perform { Daemon.end($0) }) }
    }
    for worker in services.workers {
      drained.began()
      _ = worker.send(.perform { $0.drain { drained.ended() } })
    }
    drained.began()
    services.drainHTTP(on: control.loop) { drained.ended() }
    drained.ended()
    do throws(SystemError) {
      _ = try control.loop.timer(after: UInt64(Limits.shutdownTime / 1000) - 500, every: 0) { Daemon.end(control) }
    } catch {
      Daemon.end(control)
    }
  }

  /// How long deliveries in flight may take to end, in milliseconds.
  private static let deliveryTime: UInt64 = 3_000

  private static func end(_ control: Control) {
    control.services.outbox.stop(within: 0)
    for worker in control.services.workers { _ = worker.send(.perform { $0.loop.stop() }) }
    control.services.commits.stop()
    control.loop.stop()
  }
}
