import RuledCore
import RuledEngine
import RuledIO
import RuledStore
import RuledWire

/// The thread for matters of all workers: it accepts connections, fires timers, sets the clock, and begins the shutdown.
final class Control {
  let services: Services
  let loop: EventLoop
  let timers: TimerService
  private var listeners: [Listener] = []
  private var signals: DescriptorPoll?
  private var nextWorker = 0
  private var watchdog: LoopTimer?
  private var sampling: LoopTimer?
  private let onStop: (StopReason) -> Void

  /// A control thread on `loop`, which calls `onStop` when the daemon is to stop, once for each reason.
  init(services: Services, loop: EventLoop, onStop: @escaping (StopReason) -> Void) throws(SystemError) {
    self.services = services
    self.loop = loop
    self.onStop = onStop
    timers = try TimerService(services: services, loop: loop)
  }

  /// Begins to fire timers and to answer signals.
  func start(_ signals: ProcessSignals) throws(SystemError) {
    try services.control.attach(to: loop) { [unowned self] messages in
      for message in messages { receive(message) }
    }
    self.signals = try signals.attach(to: loop) { [unowned self] signal in
      signal == .hangUp ? services.reloads.request(.configuration) : onStop(.signal)
    }
    timers.fireDue()
    watchdog = try services.notifier.watchdogTimer(on: loop) { [unowned self] in askWorkers() }
    sampling = try loop.timer(after: LoadHistory.period, every: LoadHistory.period) { [unowned self] in
      services.load.sample(LoadTotals(services), at: EngineClock.wall)
      services.uploads.removeOld()
    }
  }

  func listen(_ socket: consuming ListeningSocket) throws(SystemError) {
    listeners.append(try Listener(on: loop, socket) { [unowned self] in assign($0) })
  }

  /// Begins to serve HTTP on a TCP socket: the plugins' sites alone `forSites`, else the API too.
  func listen(_ socket: consuming ListeningSocket, forSites: Bool) throws(SystemError) {
    listeners.append(
      try Listener(on: loop, socket) { [unowned self] in
        services.adoptWeb($0, from: ClientAccess(forSites ? .sites : .api))
      })
  }

  func stopAccepting() {
    for listener in listeners { listener.stop() }
    listeners = []
    timers.stop()
  }

  func close() {
    signals?.close()
    watchdog?.close()
    sampling?.close()
    timers.close()
    services.control.close()
  }

  /// Asks all workers whether their loops still run.
  ///
  /// The last one to answer reports to systemd's watchdog, so that no report is made while one is stuck.
  private func askWorkers() {
    let services = services
    guard services.silentWorkers.load(ordering: .acquiring) == 0 else { return }
    services.silentWorkers.store(services.workers.count, ordering: .releasing)
    for worker in services.workers {
      _ = worker.send(
        .wake {
          let silent = services.silentWorkers.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
          if silent == 0 { services.notifier.watchdog() }
        })
    }
  }

  /// Passes a connection to the next worker in turn; with `client`, another node has carried it here.
  private func assign(_ descriptor: Int32, for client: ClientAccess? = nil) {
    let worker = nextWorker
    nextWorker = (nextWorker + 1) % services.workers.count
    // Counted here, so that connections on their way to a worker take no descriptor that the store needs.
    guard let permit = permit(descriptor, client) else { return turnAway(descriptor, client) }
    if !services.workers[worker].send(.adopt(descriptor, with: permit, for: client)) {
      permit.release()
      SystemCalls.close(descriptor)
    }
  }

  private func permit(_ descriptor: Int32, _ client: ClientAccess?) -> ConnectionPermit? {
    if let client { return services.takePermit(services.permits, for: .node(client.node), isAdmin: client.isAdmin) }
    let peer = PeerCredentials(of: descriptor)
    let isAdmin = peer.map { services.admins.include($0, groups: PeerCredentials.groups(of: descriptor)) } ?? false
    return services.takePermit(services.permits, for: .user(peer?.uid ?? .max), isAdmin: isAdmin)
  }

  /// Turns a connection away for which there is no permit, unless it is a probe's.
  private func turnAway(_ descriptor: Int32, _ client: ClientAccess?) {
    if client == nil, let server = services.web.withLock({ $0 }) { return server.adopt(descriptor, with: nil) }
    services.noteRefusal(among: services.permits)
    let buffer = ByteBuffer(capacity: 512)
    ReplyWriter.error(Refusals.tooManyConnections, id: nil, isAlone: true, replacing: buffer)
    _ = SystemCalls.send(descriptor, buffer.bytes)
    SystemCalls.close(descriptor)
  }

  private func receive(_ message: ControlMessage) {
    switch message {
    case .task(let task, let caller): execute(task, for: caller)
    case .timerSet(let due): timers.set(due)
    case .rulesChanged: timers.set(.min)
    case .storeReopened:
      timers.retryAll()
      timers.fireDue()
      services.outbox.mailbox.send(.scanStore)
    case .retryTimer(let timer, let error): timers.retryLater(timer, after: error)
    case .timersFired(let fired): timers.finish(fired)
    case .moveClock(let move, let time, let end, let caller, let clientEnd):
      advance(move, to: time, then: end, caller, clientEnd)
    case .adopt(let descriptor, let client): assign(descriptor, for: client)
    case .stop(let reason): onStop(reason)
    }
  }

  private func execute(_ task: ControlTask, for caller: ControlCaller) {
    switch task {
    case .reload: if !services.reloads.add(caller) { reply(.failure(Reloads.ending), to: caller) }
    case .retry(let selection): retry(selection, caller)
    case .drop(let selection): drop(selection, caller)
    case .clock(let params): setClock(params, caller)
    case .backup: backup(for: caller)
    case .release: release(for: caller)
    case .log(let params): log(params, for: caller)
    case .past(let params): past(params, for: caller)
    case .journal: bringJournalUpToDate(for: caller)
    case .backtest(let params): backtest(params, for: caller)
    case .cluster(let params):
      guard let membership = services.membership else { return reply(.failure(Self.isAlone), to: caller) }
      membership.answer(params) { [services] in services.reply($0, to: caller) }
    }
  }

  /// Replies to a client through the thread that has its connection.
  func reply(_ result: Result<JSONValue, RequestError>, to caller: ControlCaller) { services.reply(result, to: caller) }

  private static let isAlone = RequestError(
    .notFound, "this daemon is not a node of a cluster: its store is its own; docs/cluster.md says how to set one up"
  )

  // MARK: Backups, and the effects that a restore holds back

  /// Makes a checkpoint of the store, from which a client takes a backup, and replies with its folder.
  ///
  /// It has a thread of its own, since it waits for the disk, and one that runs after commits and rules; these go on meanwhile.
  func backup(for caller: ControlCaller) {
    let services = services
    services.backups.run({ Self.makeCheckpoint(services) }, then: { services.reply($0, to: caller) })
  }

  func release(for caller: ControlCaller) {
    do throws(StoreError) {
      reply(.success(.object(["released": .bool(try releaseEffects())])), to: caller)
    } catch { reply(.failure(RequestError(.unavailable, "\(error)")), to: caller) }
  }

  /// Ends the hold of effects; true if there was one.
  private func releaseEffects() throws(StoreError) -> Bool {
    guard services.areEffectsHeld else { return false }
    try EffectsHold.release(in: services.context.store)
    services.effectsAreHeld.store(false, ordering: .releasing)
    services.outbox.mailbox.send(.scanStore)
    services.log.info("the effects that were held back since the restore are delivered from now on")
    return true
  }

  private static func makeCheckpoint(_ services: Services) -> Result<JSONValue, RequestError> {
    guard let path = services.context.configuration.storeFolder else {
      return .failure(RequestError(.unavailable, "a store in memory has no backups; run with a store on disk"))
    }
    let started = EngineClock.monotonic
    let time = EngineClock.wall
    do throws(StoreError) {
      let checkpoints = StoreCheckpoints(of: path)
      guard try checkpoints.removeAbandoned() else { return .failure(services.backups.refusal) }
      let folder = try checkpoints.make(of: services.context.store, at: time, with: [RevisionArchive.folder])
      return .success(
        .object([
          "checkpoint": .string(folder), "at": .string(time.rfc3339),
          "took_ms": .integer(Int64((EngineClock.monotonic - started) / 1_000_000)),
        ]))
    } catch { return .failure(RequestError(.unavailable, "\(error)")) }
  }
}

extension LoadTotals {
  init(_ services: Services) {
    self.init()
    events = services.figures.reduce(0) { $0 + $1.events.load(ordering: .relaxed) }
    for worker in services.figures { latency.add(worker.commits.latency) }
    for plugin in services.status.catalog?.plugins ?? [] {
      let runtime = plugin.runtime
      plugins[plugin.name] = Plugin(runs: runtime.runs, failures: runtime.failures, durations: runtime.durations)
    }
    messages = services.messages.waiting
    effects = services.outbox.figures.reduce(0) { $0 + $1.figures.present.waiting }
  }
}
