import RuledCore
import RuledEngine
import RuledIO
import RuledStore
import RuledWire
import Synchronization

/// The state that the threads of a daemon share.
final class Services: Sendable {
  let context: EngineContext
  var log: any EventLog { context.log }
  let workers: [Mailbox<WorkerMessage>]
  let control = Mailbox<ControlMessage>()
  let reloads = Reloads()
  let outbox = Outbox()
  let revisions: RevisionArchive
  let shadow = Mutex<Shadow?>(nil)
  /// The shadow that was stopped last, until its thread has ended.
  let stoppedShadow = Mutex(StoppedShadow())
  let status = DaemonStatus()
  let timers = TimerFigures()
  let figures: [WorkerFigures]
  let web = Mutex<(any WebServer)?>(nil)
  /// The token that clients of the loopback listener send; nil without that listener.
  let bearerToken: BearerToken?
  let sessions = DashboardSessions()
  let load = LoadHistory()
  let uploads = Uploads()
  let refusals: Refusals
  /// The journal; nil when it is off.
  let journal: JournalService?
  let membership: (any ClusterMember)?
  var agreement: (any ClusterRules)? { membership?.rules }
  /// The number of workers that have not answered the watchdog's last question yet.
  let silentWorkers = Atomic(0)
  let backups = Errands(
    on: "ruled-backup", .lowest, most: 1,
    RequestError(.unavailable, "another backup is being taken; wait for it"), "the backup can't begin")
  let backtests = Errands(
    on: "ruled-backtest", .lowest, most: 1,
    RequestError(
      .unavailable, "another backtest is running; wait for it, or run 'rulectl backtest', which is not limited"),
    "the backtest can't begin")
  /// Whether effects are held back since a restore.
  let effectsAreHeld = Atomic(false)
  /// Whether no effect is delivered or handed out for now.
  var areEffectsHeld: Bool { effectsAreHeld.load(ordering: .acquiring) }
  /// The number of requests in flight: received and not answered.
  let inFlight = Atomic<Int>(0)
  let gone = GoneClients()
  /// The memory of incomplete long lines of all workers.
  let lineMemory: MemoryBudget
  /// The memory of unsent replies of all workers' connections.
  let outputMemory = MemoryBudget(Limits.unsentBytes)
  /// The most requests in flight other than an administrator's or a probe's.
  let unreservedInFlight: Int
  /// The permits of the connections that are open, or accepted and on their way to a thread: as many as are configured, or fewer if the process
  /// may not open as many files.
  let permits: ConnectionPermits
  let sitePermits: ConnectionPermits
  let notifier: SystemdNotifier
  private let current: Mutex<(configuration: Configuration, admins: Administrators, couriers: Administrators)>
  private let generations = Atomic<Int>(1)

  init(
    context: EngineContext, workers count: Int, notifier: SystemdNotifier = .silent, connectionLimit: Int? = nil,
    bearerToken: BearerToken? = nil, journal: JournalService? = nil, membership: (any ClusterMember)? = nil
  ) {
    self.bearerToken = bearerToken
    self.journal = journal
    self.membership = membership
    let limits = context.configuration.limits
    let connections = connectionLimit ?? limits.connections
    unreservedInFlight = limits.unreserved(of: limits.inFlight)
    permits = ConnectionPermits(connections, unreserved: limits.unreserved(of: connections), limits)
    sitePermits = ConnectionPermits(connections, unreserved: connections, limits)
    self.context = context
    self.notifier = notifier
    revisions =
      membership?.rules.revisions
      ?? RevisionArchive(folder: context.configuration.storeFolder.map { "\($0)/\(RevisionArchive.folder)" })
    workers = (0..<count).map { _ in Mailbox<WorkerMessage>() }
    refusals = Refusals(log: context.log)
    lineMemory = MemoryBudget(max(Limits.lineBytes, 4 * context.configuration.limits.requestBytes))
    figures = (0..<count).map { _ in WorkerFigures() }
    let configuration = context.configuration
    current = Mutex((configuration, Administrators(configuration.admins), Administrators(configuration.couriers)))
  }

  /// The present configuration: the start's, except for settings that a reload may change.
  var configuration: Configuration { current.withLock { $0.configuration } }

  var admins: Administrators { current.withLock { $0.admins } }

  /// The clients that may lease effects: the built-in administrators, and the configured couriers.
  var couriers: Administrators { current.withLock { $0.couriers } }

  /// The number of configurations so far; it changes with each reload.
  var generation: Int { generations.load(ordering: .relaxed) }

  /// Adopts the settings that may change at run time from another configuration.
  func adopt(_ next: Configuration) {
    context.adopt(next)
    membership?.reloadIdentity()
    if next.journal.isOn { journal?.journal.adopt(next.journal) }
    current.withLock { current in
      current.configuration.adopt(next)
      current.admins = Administrators(next.admins)
      current.couriers = Administrators(next.couriers)
    }
    generations.wrappingAdd(1, ordering: .relaxed)
  }

  /// Reads the bearer token again; streams of the token before end.
  func rereadToken() {
    bearerToken?.reread(log)
    web.withLock { $0 }?.checkStreams()
  }

  /// Logs the names in the configuration that the rules or this host do not know.
  func warnOfUnknownNames(_ catalog: Catalog) {
    let sinks = HostReview.unknownSinks(configuration, known: catalog.plugins.flatMap(\.manifest.sinks))
    for name in catalog.problems(in: configuration) + sinks {
      context.log.warn("the configuration: \(name.message)")
    }
    for (key, names) in [("admins", admins.unknown), ("couriers", couriers.unknown)] {
      for name in names {
        let kind = name.hasPrefix("@") ? "group" : "user"
        context.log.warn("the configuration's \(key) name a \(kind) '\(name)' that this host does not know")
      }
    }
  }

  func takePermit(_ permits: ConnectionPermits, for owner: ConnectionPermits.Owner, isAdmin: Bool) -> ConnectionPermit?
  {
    permits.take(owner, isAdmin: isAdmin, now: UInt64(MonotonicClock.milliseconds))
  }

  /// Notes that a client was turned away, as there is no permit among `permits`.
  func noteRefusal(among permits: ConnectionPermits) {
    refusals.note(permits === sitePermits ? .sites : .connections) {
      let most = permits.largest.map { ", \($0.count) of them by \($0.owner)" } ?? ""
      return permits === sitePermits
        ? "connections to http.sites are refused: all \(permits.total) are taken\(most)"
        : "connections are refused: \(permits.count) of the \(permits.total) that limits.connections or the open files allow "
          + "are taken\(most)"
    }
  }

  /// Counts an error that another thread than a worker answers with.
  func noteError(_ code: RequestError.Code) { figures[0].noteRefusal(code) }

  func notifyStatus() { notifier.status(status.line) }

  /// Whether the client of a connection may call every method.
  func isAdmin(_ connection: Connection) -> Bool { connection.carried?.isAdmin ?? admins.include(connection) }

  /// Whether the client of a connection may lease effects though it may not call every method.
  func isCourier(_ connection: Connection) -> Bool { connection.carried?.isCourier ?? couriers.include(connection) }

  /// The refusal of a request beyond the limit of requests in flight, which is lower unless the request may use the reserve; nil below the
  /// limit.
  func overload(isReserved: Bool, adding count: Int) -> RequestError? {
    let limit = context.configuration.limits.inFlight
    guard inFlight.load(ordering: .relaxed) + count > (isReserved ? limit : unreservedInFlight) else { return nil }
    refusals.note(.inFlight) { "requests are refused: as many are in flight as limits.in_flight, \(limit), allows" }
    return RequestError(.overloaded, "too many requests are in flight; try again", retryAfter: 100)
  }

  /// Throws if another node may own the log by now, so that a read here may miss its commits.
  func checkRead() throws(RequestError) { try membership?.checkRead() }

  func worker(for subject: ByteView) -> Int { worker(forHash: hash64(subject)) }

  func worker(for subject: [UInt8]) -> Int { subject.withView { worker(for: $0) } }

  func worker(forHash hash: UInt64) -> Int {
    workers.count == 1 ? 0 : Int(truncatingIfNeeded: hash >> 33) % workers.count
  }

  /// Takes over a connection that another node has carried here; false if the daemon takes none any more.
  func adopt(_ descriptor: Int32, for client: ClientAccess) -> Bool {
    if client.listener == .lines { return control.send(.adopt(descriptor, for: client)) }
    adoptWeb(descriptor, from: client)
    return true
  }

  func adoptWeb(_ descriptor: Int32, from peer: ClientAccess) {
    guard let server = web.withLock({ $0 }) else { return SystemCalls.close(descriptor) }
    server.accept(descriptor, from: peer)
  }

  /// All workers' counts of the last rollout since it or the process began.
  var rolloutCounts: RolloutCounts { figures.reduce(into: RolloutCounts()) { $0.add($1.rollout.value) } }

  /// Runs `body`, which uses the store, unless the store is closed.
  func useStore(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    var result: Result<Void, StoreError>?
    reloads.withStore { result = Result { () throws(StoreError) in try body() } }
    guard let result else { throw StoreError(.closed, "the daemon is shutting down") }
    try result.get()
  }

  // MARK: Waiting work in the store

  /// Tries each parked event whose plugin has changed since again, once.
  func retryParked() {
    for worker in workers { _ = worker.send(.retryParked) }
  }

  /// Defers the messages of plugins until `retryParked`, called after this, has made their parked messages again.
  func deferMessages(of plugins: Set<String>) {
    for worker in workers where !plugins.isEmpty { _ = worker.send(.deferMessages(of: plugins)) }
  }

  /// Counts the parked events that an earlier process left in the store.
  func countParked() {
    do throws(StoreError) {
      context.parkedCounts.add(try StoreListing.parkedCounts(context).map { (plugin: $0.key, change: $0.value) })
    } catch { context.log.error("the parked events in the store can't all be counted: \(error)") }
  }

  /// Counts the timers that an earlier process left in the store.
  func countTimers() {
    do throws(StoreError) {
      context.waitingTimers.store(try StoreListing.timerCount(context), ordering: .relaxed)
    } catch { context.log.error("the timers in the store can't all be counted: \(error)") }
  }

  /// Counts the messages that an earlier process left in the store, and has the workers apply them.
  func resumeMessages() {
    var counts = Array(repeating: [String: Int](), count: workers.count)
    var last: UInt64 = 0
    do throws(StoreError) {
      try StoreListing.forEachMessage(context) { subject, sequence, plugin in
        counts[worker(for: subject)][plugin, default: 0] += 1
        last = max(last, sequence)
      }
    } catch { context.log.error("the messages that wait in the store can't all be counted: \(error)") }
    context.advanceSequence(to: last)
    for (worker, counts) in zip(workers, counts) {
      let found = counts.map { (sender: context.senders[$0.key], count: $0.value) }
      worker.send(.resumeMessages(found))
    }
  }

  var messages: MessageStatus {
    let summary = context.senders.summary
    return MessageStatus(
      waiting: summary.waiting, storming: summary.storming,
      delayedSubjects: figures.reduce(0) { $0 + $1.delayedSubjects.load(ordering: .relaxed) },
      areReadable: figures.allSatisfy { !$0.failsToRead.load(ordering: .relaxed) },
      damaged: context.damagedMessages.load(ordering: .relaxed))
  }

  // MARK: Replies of threads other than workers: they leave through the thread that has the connection

  func reply(_ result: Result<JSONValue, RequestError>, to caller: ControlCaller) {
    reply(to: caller, result) { $0.write(to: $1) }
  }

  /// Replies to a client with JSON text as the result.
  func reply(text result: Result<[UInt8], RequestError>, to caller: ControlCaller) {
    reply(to: caller, result) { text, buffer in text.withView { buffer.append($0) } }
  }

  private func reply<Value>(
    to caller: ControlCaller, _ result: Result<Value, RequestError>, _ write: (Value, ByteBuffer) -> Void
  ) {
    let buffer = ByteBuffer(capacity: 1024)
    var result = result
    if caller.isRead { do throws(RequestError) { try checkRead() } catch { result = .failure(error) } }
    if case .failure(let error) = result { noteError(error.code) }
    if let id = caller.id {
      let isAlone = caller.target.batch == 0
      id.withView { id in
        switch result {
        case .success(let value):
          ReplyWriter.beginResult(id: id, to: buffer)
          write(value, buffer)
          ReplyWriter.endResult(to: buffer)
          if isAlone { ReplyWriter.endLine(to: buffer) }
        case .failure(let error): ReplyWriter.error(error, id: id, isAlone: isAlone, replacing: buffer)
        }
      }
    }
    switch caller.target.receiver {
    case .http: web.withLock { $0 }?.takeReply(buffer.bytes, for: caller.target)
    case .worker(let worker):
      let bundle = TextBundle()
      bundle.add(buffer.bytes, to: caller.target)
      workers[worker].send(.replies(bundle))
    }
  }
}

extension ConnectionPermits {
  fileprivate convenience init(_ total: Int, unreserved: Int, _ limits: Configuration.Bounds) {
    self.init(
      total, unreserved: unreserved, idleMilliseconds: UInt64(limits.idleSeconds) * 1_000,
      silentMilliseconds: UInt64(Limits.silentSeconds) * 1_000)
  }
}

extension LogLine {
  /// The log's name for a subject: a hash of its name.
  static func hash(of subject: [UInt8]) -> String { subject.withView { hash(of: $0) } }
}

extension RequestError {
  static let notCommitted = RequestError(
    .unavailable, "the store refused the commit: the request is done in part or not at all, send it again")
}
