import RuledCore
import RuledIO
import RuledThreads
import RuledWire
import Synchronization

/// Speaks HTTP on accepted connections, on a thread of its own.
///
/// Requests about subjects become JSON-RPC requests to the workers, so that they have the meaning, the order and the durability of other clients'
/// requests.
final class HTTPServer: WebServer {
  private enum Message: Sendable {
    /// Send the response to a request, if it still waits.
    case respond(connection: UInt64, token: UInt64, HTTPResponse)
    case call(@Sendable (HTTPConnectionTable) -> Void)
  }

  /// How long a connection may be idle, be stuck within a request or within a response, in milliseconds.
  static let progressTimeout = UInt64(Limits.connectionProgress / 1000)
  /// How long a request may take to arrive, in milliseconds.
  static let requestTimeout: UInt64 = 300_000
  /// How long a client may take to close its side of a connection that the server has ended, in milliseconds.
  static let lingerTimeout: UInt64 = 2_000
  /// How long a client beyond the limit of connections may take to send the request of a probe, in milliseconds.
  static let probeTimeout: UInt64 = 2_000
  /// How often the timeouts are checked, in milliseconds.
  static let timeoutCheckPeriod: UInt64 = 1_000
  /// A request of at most so many bytes is accepted however much memory the others take.
  static let smallRequest = 16 << 10

  let services: Services
  let commits: CommitPipeline
  let dashboard = DashboardFiles.besideProgram()
  private let mailbox = Mailbox<Message>()
  private let thread = Mutex<Thread?>(nil)
  private let exchanges = Mutex<[UInt64: HTTPExchange]>([:])
  private let tokens = Atomic<UInt64>(0)
  private let activeRequests = Atomic<Int>(0)
  private let drains = Atomic<Bool>(false)
  private let used = Atomic<Int>(0)
  private let maximumBytes: Int

  init(_ services: Services, _ commits: CommitPipeline) throws(SystemError) {
    self.services = services
    self.commits = commits
    maximumBytes = max(Limits.httpBytes, 4 * services.context.configuration.limits.requestBytes)
    let thread = try Thread.start(name: "ruled-http") { [unowned self] in
      do throws(SystemError) { try run() } catch {
        self.services.log.error("the HTTP server ended: \(error)")
        mailbox.close()
      }
    }
    self.thread.withLock { $0 = thread }
    services.web.withLock { $0 = self }
  }

  private func run() throws(SystemError) {
    let loop = try EventLoop()
    defer { loop.close() }
    let table = try HTTPConnectionTable(on: loop, server: self)
    defer { table.close() }
    try mailbox.attach(to: loop) { messages in
      for message in messages {
        switch message {
        case .respond(let connection, let token, let response): table[connection]?.respond(response, to: token)
        case .call(let body): body(table)
        }
      }
    }
    loop.run()
    mailbox.close()
  }

  // MARK: Connections

  func accept(_ descriptor: Int32, from peer: ClientAccess) {
    let permits = peer.isVisitor ? services.sitePermits : services.permits
    let owner: ConnectionPermits.Owner = peer.node.isEmpty ? .network : .node(peer.node)
    let permit = services.takePermit(permits, for: owner, isAdmin: peer.isAdmin)
    if permit == nil, peer.isVisitor { return refuseVisitor(descriptor) }
    adopt(descriptor, from: peer, with: permit)
  }

  private func refuseVisitor(_ descriptor: Int32) {
    services.noteRefusal(among: services.sitePermits)
    HTTPResponse(Refusals.tooManyConnections).sendLast(on: descriptor)
    SystemCalls.close(descriptor)
  }

  func adopt(_ descriptor: Int32, with permit: ConnectionPermit?) {
    adopt(descriptor, from: ClientAccess(.web, isAdmin: services.admins.include(peerOf: descriptor)), with: permit)
  }

  private func adopt(_ descriptor: Int32, from peer: ClientAccess, with permit: ConnectionPermit?) {
    guard !mailbox.send(.call { $0.adopt(descriptor, from: peer, with: permit) }) else { return }
    SystemCalls.close(descriptor)
    permit?.release()
  }

  /// Closes a connection, whose permit another one got.
  func evict(_ connection: UInt64) { mailbox.send(.call { $0[connection]?.evict() }) }

  func checkStreams() { mailbox.send(.call { $0.checkStreams() }) }

  func readChanges() { mailbox.send(.call { $0.watches.read() }) }

  /// How often clients that watch are sent a comment, in milliseconds.
  private static let heartbeatPeriod: UInt64 = 15_000

  /// Has a comment sent to each client that watches, from time to time while the loop runs.
  func beginHeartbeats(on loop: EventLoop) throws(SystemError) {
    try loop.timer(after: Self.heartbeatPeriod, every: Self.heartbeatPeriod) { [mailbox] in
      mailbox.send(.call { table in table.forEach { $0.sendHeartbeat() } })
    }
  }

  // MARK: Memory

  /// Adds to the memory that requests and responses take; a negative number of bytes is released.
  func use(_ bytes: Int) { if bytes != 0 { used.wrappingAdd(bytes, ordering: .relaxed) } }

  /// The bytes of memory that requests and responses take.
  var usedBytes: Int { used.load(ordering: .relaxed) }

  /// Whether there is memory left for large requests.
  var hasRoom: Bool { usedBytes <= maximumBytes }

  static let noRoom = HTTPError(
    RequestError(.overloaded, "the requests under way take too much memory; try again", retryAfter: 1000))

  // MARK: Requests

  func nextToken() -> UInt64 { tokens.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Counts a request as active, from its last byte to the last byte of its response.
  func beginRequest() { activeRequests.wrappingAdd(1, ordering: .relaxed) }

  /// Counts a request as over, whether its response was sent or not.
  func endRequest() { activeRequests.wrappingSubtract(1, ordering: .relaxed) }

  /// Sends the JSON-RPC requests of an exchange to the workers.
  func execute(_ requests: RPCRequests, for exchange: HTTPExchange) {
    register(exchange)
    use(requests.usedBytes)
    send(exchange.begin(requests), of: exchange)
  }

  /// Keeps an exchange until `finish`.
  func register(_ exchange: HTTPExchange) {
    services.inFlight.wrappingAdd(1, ordering: .relaxed)
    exchanges.withLock { $0[exchange.token] = exchange }
  }

  func isAwaited(_ token: UInt64) -> Bool { exchanges.withLock { $0[token].map { !$0.isAbandoned } ?? false } }

  private func send(_ indices: Range<Int>, of exchange: HTTPExchange) {
    let requests = exchange.requests(at: indices)
    guard let worker = requests.first?.worker else { return }
    let bundle = TextBundle()
    for (index, request) in zip(indices, requests) {
      let target = ReplyTarget(
        .http, connection: exchange.token, batch: 1, slot: index, isAdmin: exchange.isOfAdmin,
        mayReadStates: exchange.peer.mayReadStates, owner: exchange.owner)
      request.text.withView { bundle.add($0, to: target) }
    }
    if !services.workers[worker].send(.requests(bundle)) { finish(exchange.token, Self.shuttingDown) }
  }

  static let shuttingDown = HTTPResponse(
    RequestError(.unavailable, "the daemon is shutting down: nothing was applied, send it again"))

  func takeReply(_ reply: ByteView, for target: ReplyTarget) {
    guard let exchange = exchanges.withLock({ $0[target.connection] }) else { return }
    let reply = JSONRPCReply(reply)
    guard let (next, response) = exchange.store(reply, at: target.slot, isLastTurn: !hasRoom) else { return }
    use(reply.body.count)
    if let response { finish(exchange.token, response) } else { send(next, of: exchange) }
  }

  func finish(_ token: UInt64, _ response: HTTPResponse) {
    guard let exchange = exchanges.withLock({ $0.removeValue(forKey: token) }) else { return }
    services.inFlight.wrappingSubtract(1, ordering: .relaxed)
    use(-exchange.end())
    mailbox.send(.respond(connection: exchange.connection, token: token, response))
  }

  // MARK: Ending

  /// Whether connections are closed after their current response.
  var isDraining: Bool { drains.load(ordering: .relaxed) }

  /// Ends the streams, and each connection after its current response.
  func drain() {
    drains.store(true, ordering: .relaxed)
    mailbox.send(.call { table in table.forEach { $0.endStream() } })
  }

  /// How often a draining server is checked for active requests, in milliseconds; also how long further requests may come out of the
  /// sockets before it counts as idle.
  private static let drainCheckPeriod: UInt64 = 20

  /// Drains the server, and calls `done` on `loop` once no request is active.
  func drain(on loop: EventLoop, then done: @escaping () -> Void) {
    drain()
    waitUntilIdle(on: loop, then: done)
  }

  private func waitUntilIdle(on loop: EventLoop, then done: @escaping () -> Void) {
    do throws(SystemError) {
      try loop.timer(after: Self.drainCheckPeriod) { [self] in
        if activeRequests.load(ordering: .relaxed) <= 0 { return done() }
        waitUntilIdle(on: loop, then: done)
      }
    } catch { done() }
  }

  func stop() {
    drain()
    for token in exchanges.withLock({ Array($0.keys) }) { finish(token, Self.shuttingDown) }
    mailbox.send(.call { $0.loop.stop() })
    let thread = thread.withLock { $0.take() }
    thread?.join()
    services.web.withLock { $0 = nil }
  }
}
