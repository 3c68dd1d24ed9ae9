import RuledCluster
import RuledCore
import RuledEngine
import RuledIO
import RuledServing
import RuledStore
import RuledThreads
import RuledWire
import Synchronization

/// Serves the clients of a follower: carries their connections to the owner, and answers requests about the node itself.
///
/// Without a link to the owner, each request gets an error that names the owner. It serves on the daemon's sockets until the node owns the
/// log, or a signal asks the daemon to end.
final class StandbyServer: ConnectionHandler {
  let membership: ClusterMembership
  /// The configuration: the start's, except for settings that SIGHUP may change.
  private(set) var configuration: Configuration
  private let readConfiguration: ConfigurationReader
  /// The node's journal; nil when it is off.
  let journal: JournalService?
  let sockets: DaemonSockets
  private let connections: Int
  let loop: EventLoop
  let table: ConnectionTable
  let parser = RequestParser()
  let reply = ByteBuffer(capacity: 1024)
  private let ended = Mailbox<Bool>()
  let start = EngineClock.wall
  private(set) var admins: Administrators
  private(set) var couriers: Administrators
  let route: OwnerRoute?
  /// The requests of all clients that wait for the owner.
  let unanswered = UnansweredCount()
  /// Replies from the threads that ask the database.
  let late = Mailbox<LateReply>()

  struct LateReply: Sendable {
    let connection: ConnectionToken
    let id: [UInt8]
    let result: Result<JSONValue, RequestError>
  }

  /// The problems of the configuration that SIGHUP had read; nil without any.
  private(set) var configurationError: String?
  /// The listeners for new clients, until the daemon ends.
  private var listeners: [Listener] = []
  /// When the node ends at the latest, in nanoseconds of the monotonic clock; nil as long as no signal asks for the end.
  private var endsAt: UInt64?
  /// When expired outcomes are dropped next, in nanoseconds of the monotonic clock.
  private var expiresAt: UInt64 = 0
  var clients: [ConnectionToken: ForwardedLines] = [:]
  /// Clients that have disconnected and whose last lines are still being sent.
  private var leaving: [ForwardedLines] = []
  var webs: [ObjectIdentifier: ForwardedWeb] = [:]
  /// The connections of clients that speak HTTP which are carried to the owner.
  let carried = CarriedConnections()

  final class CarriedConnections: Sendable {
    let count = Atomic<Int>(0)
  }

  private init(
    _ membership: ClusterMembership, _ configuration: Configuration, _ sockets: DaemonSockets,
    _ journal: JournalService?, connections: Int, readConfiguration: @escaping ConfigurationReader
  ) throws(SystemError) {
    self.readConfiguration = readConfiguration
    self.membership = membership
    self.configuration = configuration
    self.journal = journal
    self.sockets = sockets
    self.connections = connections
    admins = Administrators(configuration.admins)
    couriers = Administrators(configuration.couriers)
    route = membership.links.map { OwnerRoute(membership.node, $0) }
    loop = try EventLoop()
    var limits = ConnectionLimits()
    limits.lineBytes = configuration.limits.requestBytes
    limits.lineMemory = MemoryBudget(max(Limits.lineBytes, 4 * limits.lineBytes))
    table = ConnectionTable(on: loop, limits: limits)
    table.handler = self
    loop.atTickEnd(.work) { [unowned self] in flush() }
  }

  /// How often expired outcomes are dropped from the node's own store, in nanoseconds.
  private static let expiryInterval: UInt64 = 60_000_000_000

  /// Serves until the node owns the log; returns the log's writer, or nil after a signal.
  ///
  /// The sockets stay open. SIGHUP has `configuration` read again.
  static func run(
    _ membership: ClusterMembership, _ configuration: inout Configuration, _ sockets: DaemonSockets,
    _ journal: JournalService?, connections: Int, notifier: SystemdNotifier, signals: ProcessSignals,
    readConfiguration: @escaping ConfigurationReader
  ) throws(StartError) -> LogWriter? {
    do {
      let server = try StandbyServer(
        membership, configuration, sockets, journal, connections: connections, readConfiguration: readConfiguration)
      defer { configuration = server.configuration }
      return try server.serve(notifier, signals)
    } catch { throw StartError("the node can't follow its cluster: \(error)") }
  }

  /// How often the owner and timeouts are checked, in milliseconds.
  private static let period: UInt64 = 100

  private func serve(_ notifier: SystemdNotifier, _ signals: ProcessSignals) throws -> LogWriter? {
    let ending = Shared<Result<LogWriter?, StoreError>>(.success(nil))
    try ended.attach(to: loop) { [unowned self] _ in stop() }
    try late.attach(to: loop) { [unowned self] replies in for reply in replies { finish(reply) } }
    let signalPoll = try signals.attach(to: loop) { [unowned self] signal in
      if signal == .hangUp { return reconfigure() }
      notifier.stopping()
      drain()
    }
    let (node, ended, agreement) = (membership.node, ended, membership.agreement)
    agreement.use(configuration)
    _ = try Thread(name: "ruled-rules") { agreement.follow() }
    defer { agreement.stop() }
    let follower = try Thread(name: "ruled-follow") {
      ending.value = Result { () throws(StoreError) in try node.awaitOwnership() }
      _ = ended.send(true)
    }
    for descriptor in sockets.lines {
      listeners.append(try Listener(on: loop, try ListeningSocket(copying: descriptor)) { [unowned self] in adopt($0) })
    }
    listeners += try [(sockets.api, ClientAccess.Listener.api), (sockets.sites, .sites)].compactMap {
      socket, kind in
      try socket.map { descriptor in
        try Listener(on: loop, try ListeningSocket(copying: descriptor)) { [unowned self] in
          adoptWeb($0, ClientAccess(kind))
        }
      }
    }
    let watchdog = try notifier.watchdogTimer(on: loop) { notifier.watchdog() }
    let refreshTimer = try loop.timer(after: Self.period, every: Self.period) { [unowned self] in refresh() }
    refresh()
    notifier.ready(status: "standby")
    loop.run()
    refreshTimer.close()
    watchdog?.close()
    for listener in listeners { listener.stop() }
    listeners = []
    signalPoll.close()
    for web in webs.values { web.close() }
    table.close()
    ended.close()
    late.close()
    if endsAt != nil { return nil }  // the process ends, and with it the thread
    follower.join()
    loop.close()
    return try ending.value.get()
  }

  /// Reads the configuration and the certificates again: from now on requests and new tunnels are judged by them.
  private func reconfigure() {
    membership.reloadIdentity()
    sockets.token?.reread(membership.log)
    do throws(StartError) {
      let next = try readConfiguration()
      configurationError = nil
      configuration.logRereading(of: next, to: membership.log)
      configuration.adopt(next)
      membership.agreement.use(configuration)
      if next.journal.isOn { journal?.journal.adopt(next.journal) }
      (admins, couriers) = (Administrators(configuration.admins), Administrators(configuration.couriers))
    } catch {
      configurationError = error.description
      Configuration.report(error, to: membership.log)
    }
  }

  // MARK: The end

  /// How long the node takes to end at most, in nanoseconds.
  private static let longestEnd = UInt64(Limits.shutdownTime - 1_000_000) * 1_000

  /// After a signal: takes no new clients, answers all received requests, and then stops.
  private func drain() {
    guard endsAt == nil else { return }
    let end = EngineClock.monotonic + Self.longestEnd
    endsAt = end
    membership.log.info("ending: received requests are answered first")
    for listener in listeners { listener.stop() }
    listeners = []
    table.drain()
    do throws(SystemError) {
      try loop.timer(after: Self.drainPeriod, every: Self.drainPeriod) { [unowned self] in
        let isDone = table.count == 0 && leaving.isEmpty
        if isDone || EngineClock.monotonic >= end { stop() }
      }
    } catch { stop() }
  }

  /// How often a node that ends looks whether all is done, in milliseconds.
  private static let drainPeriod: UInt64 = 5

  /// Ends the tunnels, which answers their open requests, and the loop.
  private func stop() {
    for client in clients.values { client.end() }
    for client in leaving { client.end() }
    route?.close()
    loop.stop()
  }

  // MARK: Ticks

  private func refresh() {
    route?.refresh()
    if EngineClock.monotonic >= expiresAt {
      expiresAt = EngineClock.monotonic + Self.expiryInterval
      membership.expireOutcomes()
    }
    for web in webs.values { web.checkTime() }
  }

  /// Writes the clients' requests to the tunnels; called at the end of a tick.
  private func flush() {
    for client in clients.values { client.flush() }
    for client in leaving { client.flush() }
    leaving.removeAll { $0.isOver }
  }

  // MARK: Connections

  /// Whether there is no permit for another connection: the last ones are for administrators.
  func isFull(forAdmin isAdmin: Bool) -> Bool {
    let limit = isAdmin ? connections : configuration.limits.unreserved(of: connections)
    return table.count + webs.count + carried.count.load(ordering: .relaxed) >= limit
  }

  private func adopt(_ descriptor: Int32) {
    guard !isFull(forAdmin: admins.include(peerOf: descriptor)) else {
      ReplyWriter.error(Refusals.tooManyConnections, id: nil, isAlone: true, replacing: reply)
      _ = SystemCalls.send(descriptor, reply.bytes)
      return SystemCalls.close(descriptor)
    }
    _ = try? table.adopt(descriptor)
  }

  func receiveOtherProtocol(on descriptor: Int32, with permit: ConnectionPermit?) {
    adoptWeb(descriptor, ClientAccess(.web, isAdmin: admins.include(peerOf: descriptor)))
  }

  func reportUnreadOutput(on connection: Connection) {}

  func forget(_ connection: Connection) {
    guard let client = clients.removeValue(forKey: connection.token) else { return }
    leaving.append(client)
    loop.onNextTick {}  // the end of that tick sends the client's last lines
  }

  // MARK: Status

  /// The error for a request that only the owner can answer.
  var refusal: RequestError {
    let (name, figures) = (membership.node.identity.name, membership.node.figures)
    guard let owner = figures.owner, owner.name != name else {
      return RequestError(
        .unavailable, "node \(name) does not own the log of commits, nor does it know who does: try again",
        details: ["node": .string(name), "owner": .null, "retry_after_ms": 1000])
    }
    var details: JSONObject = [
      "node": .string(name), "owner": .string(owner.name), "owner_address": .string(owner.address),
    ]
    if let problem = route?.problem {
      details["retry_after_ms"] = 1000
      return RequestError(
        .unavailable, "node \(name) follows the log of commits, and \(problem); try again", details: details)
    }
    let address = owner.address.isEmpty ? "" : ", at \(owner.address)"
    return RequestError(
      .unavailable, "node \(name) follows the log of commits, node \(owner.name) owns it: ask that one\(address)",
      details: details)
  }

  var health: JSONValue {
    let (node, figures) = (membership.node, membership.node.figures)
    let position = node.position.sequence
    let problems = problems
    return .object([
      "status": .string(ownProblems.isEmpty ? "standby" : "degraded"),
      "store": .string("postgresql"),
      "node": .string(node.identity.name),
      "owner": figures.owner.map { .string($0.name) } ?? .null,
      "owner_address": figures.owner.map { .string($0.address) } ?? .null,
      "epoch": .integer(figures.epoch),
      "sequence": .integer(position),
      "behind": .integer(max(0, figures.end - position)),
      "owner_reachable": .bool(reachesOwner),
      "problems": .array(problems.map { .string($0) }),
    ])
  }

  /// Whether clients of this node get to the owner.
  var reachesOwner: Bool { route.map { $0.problem == nil } ?? false }

  /// The node's problems, and why it does not reach the owner, a sentence each.
  var problems: [String] { ownProblems + [route?.problem].compactMap { $0 } }

  private var ownProblems: [String] {
    membership.problems.map(\.description) + [configurationError, sockets.token?.problem].compactMap { $0 }
      + (journal.map { $0.problems + $0.damages } ?? [])
  }
}
