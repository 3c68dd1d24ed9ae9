import RuledCore
import RuledEngine
import RuledThreads
import RuledWire
import Synchronization

/// Speaks HTTP on connections that others have accepted, in a thread of its own.
///
/// What concerns subjects becomes JSON-RPC requests to the workers, so that it means the same, in the same order, and is as durable.
final class HTTPServer: @unchecked Sendable {  // the thread is set once, and the parser is that thread's alone
  private enum Message: Sendable {
    /// Take over a connected socket.
    case adopt(Int32)
    /// Answer a request, if it still waits.
    case answer(connection: UInt64, token: UInt64, HTTPResponse)
    /// Tell a client that watches what is new.
    case wake(connection: UInt64)
    /// Show all who watch that the daemon is there.
    case beat
    /// End all streams.
    case drain
    /// End.
    case stop
  }

  /// How long a connection may make no progress within a request or an answer, or wait for a request, in milliseconds.
  static let progressTime = UInt64(Limits.connectionProgress / 1000)
  /// How long a request may take to come, in milliseconds.
  static let requestTime: UInt64 = 300_000
  /// How long a client may take to notice that the connection is over, in milliseconds.
  static let lingerTime: UInt64 = 2_000
  /// How often times are looked at, in milliseconds.
  static let checkTime: UInt64 = 1_000
  /// A request that takes no more memory is taken whatever the others take.
  static let smallRequestBytes = 16 << 10

  let services: Services
  /// The bearer token of the loopback listener, if there is one.
  let token: BearerToken?
  /// What JSON bodies are checked with, on the server's thread.
  let parser = RequestParser()
  private let mailbox = Mailbox<Message>()
  private var thread: Thread?
  private let waiting = Mutex<[UInt64: HTTPExchange]>([:])
  private let tokens = Atomic<UInt64>(0)
  private let underWay = Atomic<Int>(0)
  private let drains = Atomic<Bool>(false)
  private let nextWorker = Atomic<Int>(0)
  private let held = Atomic<Int>(0)
  private let room: Int

  /// A server that runs its thread already.
  init(_ services: Services, token: BearerToken?) throws(SystemError) {
    self.services = services
    self.token = token
    room = max(Limits.httpBytes, 4 * services.context.configuration.limits.requestBytes)
    thread = try Thread.start(name: "ruled-http") { [unowned self] in
      do throws(SystemError) { try run() } catch {
        self.services.context.log.write(LogLine(.error, "the HTTP server ended: \(error)"))
        mailbox.close()
      }
    }
  }

  private func run() throws(SystemError) {
    let loop = try EventLoop()
    let table = try HTTPConnectionTable(on: loop, server: self)
    try mailbox.attach(to: loop) { [unowned self] messages in
      for message in messages { take(message, table) }
    }
    loop.run()
    mailbox.close()
    table.close()
    loop.close()
  }

  private func take(_ message: Message, _ table: HTTPConnectionTable) {
    switch message {
    case .adopt(let descriptor): table.adopt(descriptor)
    case .answer(let connection, let token, let response): table[connection]?.respond(response, to: token)
    case .wake(let connection): table[connection]?.pump()
    case .beat: table.forEach { $0.beat() }
    case .drain: table.forEach { $0.endStream() }
    case .stop: table.loop.stop()
    }
  }

  // MARK: Connections

  /// Takes a connected socket over, which `services.connections` counts already.
  func adopt(_ descriptor: Int32) {
    guard !mailbox.send(.adopt(descriptor)) else { return }
    SystemCalls.close(descriptor)
    disconnected()
  }

  /// A connection is over.
  func disconnected() { services.connections.wrappingSubtract(1, ordering: .relaxed) }

  /// Has a client that watches told what is new.
  func wake(_ connection: UInt64) { mailbox.send(.wake(connection: connection)) }

  /// Shows all clients that watch that the daemon is there.
  func beat() { mailbox.send(.beat) }

  // MARK: Memory

  /// Counts memory that connections take for requests and answers, or no longer take.
  func count(heldBytes bytes: Int) { if bytes != 0 { held.wrappingAdd(bytes, ordering: .relaxed) } }

  /// How many bytes requests and answers take.
  var heldBytes: Int { held.load(ordering: .relaxed) }

  /// Whether there is memory left for requests that are not small.
  var hasRoom: Bool { heldBytes <= room }

  /// What a request is answered with for which there is no memory.
  static let noRoom = HTTPFault(
    429,
    RequestError(
      .overloaded, "the requests under way take too much memory; try again",
      details: [.init("retry_after_ms", 1000)]
    ))

  // MARK: Requests

  /// The number of a new request.
  func nextToken() -> UInt64 { tokens.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The worker that is asked next for what any worker can do.
  func anyWorker() -> Int { nextWorker.wrappingAdd(1, ordering: .relaxed).newValue % services.workers.count }

  /// Counts a request that was received whole.
  func beganRequest() { underWay.wrappingAdd(1, ordering: .relaxed) }

  /// A request is over, whether its answer was sent or not.
  func endedRequest() { underWay.wrappingSubtract(1, ordering: .relaxed) }

  /// Leaves a request to the workers.
  func carryOut(_ calls: HTTPCalls, for exchange: HTTPExchange) {
    wait(exchange)
    count(heldBytes: calls.heldBytes)
    send(exchange.begin(calls), of: exchange)
  }

  /// Keeps a request until `finish`.
  func wait(_ exchange: HTTPExchange) {
    services.inFlight.wrappingAdd(1, ordering: .relaxed)
    waiting.withLock { $0[exchange.token] = exchange }
  }

  private func send(_ places: Range<Int>, of exchange: HTTPExchange) {
    for place in places {
      guard let call = exchange.call(place) else { continue }
      let target = ReplyTarget(worker: Self.worker, connection: exchange.token, batch: 1, slot: place, isAdmin: true)
      let isSent = services.workers[call.owner].send(.request(ForwardedRequest(text: call.text, target: target)))
      if !isSent { finish(exchange.token, Self.unavailable) }
    }
  }

  /// Stands for this server where a reply's target names a worker.
  static let worker = -1
  private static let unavailable = HTTPResponse(
    RequestError(.unavailable, "the daemon is shutting down: nothing was applied, send it again"))

  /// Takes a worker's reply.
  func take(_ bytes: UnsafeRawBufferPointer, for target: ReplyTarget) {
    guard let exchange = waiting.withLock({ $0[target.connection] }) else { return }
    let reply = ReplyText(bytes)
    guard let (next, whole) = exchange.answered(target.slot, reply) else { return }
    count(heldBytes: reply.body.count)
    if let whole { finish(exchange.token, whole) } else { send(next, of: exchange) }
  }

  /// Answers a request that waits.
  func finish(_ token: UInt64, _ response: HTTPResponse) {
    guard let exchange = waiting.withLock({ $0.removeValue(forKey: token) }) else { return }
    services.inFlight.wrappingSubtract(1, ordering: .relaxed)
    count(heldBytes: -exchange.end())
    mailbox.send(.answer(connection: exchange.connection, token: token, response))
  }

  // MARK: Ending

  /// Whether connections are to be closed after their answers.
  var isDraining: Bool { drains.load(ordering: .relaxed) }

  /// Whether no requests are under way.
  var isIdle: Bool { underWay.load(ordering: .relaxed) <= 0 }

  /// Ends the streams; what else is under way is still answered.
  func drain() {
    drains.store(true, ordering: .relaxed)
    mailbox.send(.drain)
  }

  /// Ends the thread; all connections are closed.
  func stop() {
    drain()
    for token in waiting.withLock({ Array($0.keys) }) { finish(token, Self.unavailable) }
    mailbox.send(.stop)
    thread?.join()
    thread = nil
  }
}
