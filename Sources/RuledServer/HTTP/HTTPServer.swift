import CMicroHTTPD
import Glibc
import RuledCore
import RuledEngine
import RuledLua
import RuledWire
import Synchronization

/// Speaks HTTP on connections that others have accepted, in a thread of its own.
///
/// What concerns subjects becomes JSON-RPC requests to the workers, so that it means the same, in the same order, and is as durable.
final class HTTPServer: @unchecked Sendable {  // its daemon is set once, and libmicrohttpd locks it
  /// Header fields and the target may take this much.
  private static let headerBytes = 64 << 10
  /// A connection on which nothing moves is closed after so many seconds.
  private static let idleSeconds = UInt32(Limits.connectionProgress / Limits.second)

  let services: Services
  /// The bearer token of the loopback listener, if there is one.
  let token: BearerToken?
  /// What JSON bodies are checked with, on the server's thread.
  let parser = RequestParser()
  private var daemon: OpaquePointer?
  private let waiting = Mutex<[UInt64: HTTPExchange]>([:])
  private let streams = Mutex<[UInt64: EventStream]>([:])
  private let tokens = Atomic<UInt64>(0)
  private let underWay = Atomic<Int>(0)
  private let drains = Atomic<Bool>(false)
  private let nextWorker = Atomic<Int>(0)

  /// A server that runs its thread already.
  init(_ services: Services, token: BearerToken?) throws(SystemError) {
    self.services = services
    self.token = token
    let most = UInt32(clamping: services.connectionLimit + 64)
    daemon = ruled_http_start(
      most, Self.headerBytes, Self.idleSeconds, httpServe, httpBegan, httpCompleted, httpConnectionChanged,
      Unmanaged.passUnretained(self).toOpaque())
    guard daemon != nil else { throw SystemError(errno, call: "MHD_start_daemon", context: "HTTP") }
  }

  // MARK: Connections

  /// Takes a connected socket over, which `services.connections` counts already.
  func adopt(_ descriptor: Int32) {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isTaken = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        getpeername(descriptor, address, &length)
        return MHD_add_connection(daemon, descriptor, address, length) == .YES
      }
    }
    if !isTaken { disconnected() }
  }

  /// A connection is over.
  func disconnected() { services.connections.wrappingSubtract(1, ordering: .relaxed) }

  /// The number of a new request.
  func nextToken() -> UInt64 { tokens.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The worker that is asked next for what any worker can do.
  func anyWorker() -> Int { nextWorker.wrappingAdd(1, ordering: .relaxed).newValue % services.workers.count }

  // MARK: Requests

  /// Counts a request that was received whole.
  func began(_ exchange: HTTPExchange) {
    exchange.isCounted = true
    underWay.wrappingAdd(1, ordering: .relaxed)
  }

  /// A request is over, whether it was answered or not.
  func completed(_ exchange: HTTPExchange) {
    if exchange.isCounted { underWay.wrappingSubtract(1, ordering: .relaxed) }
    guard let stream = exchange.stream else { return }
    stream.close()
    exchange.stream = nil
    streams.withLock { $0[exchange.token] = nil }
  }

  /// Leaves a request to the workers; its connection waits for the answer.
  func carryOut(_ calls: HTTPCalls, for exchange: HTTPExchange) {
    suspend(exchange)
    send(exchange.begin(calls), of: exchange)
  }

  /// Stops the connection of a request until `finish`.
  func suspend(_ exchange: HTTPExchange) {
    services.inFlight.wrappingAdd(1, ordering: .relaxed)
    waiting.withLock { $0[exchange.token] = exchange }
    exchange.suspend()
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
    let (next, whole) = exchange.answered(target.slot, ReplyText(bytes))
    if let whole { finish(exchange.token, whole) } else { send(next, of: exchange) }
  }

  /// Answers a request that waits.
  func finish(_ token: UInt64, _ response: HTTPResponse) {
    guard let exchange = waiting.withLock({ $0.removeValue(forKey: token) }) else { return }
    services.inFlight.wrappingSubtract(1, ordering: .relaxed)
    exchange.finish(response)
  }

  // MARK: Streams

  /// Keeps a stream that has begun.
  func began(_ stream: EventStream, for exchange: HTTPExchange) {
    exchange.stream = stream
    streams.withLock { $0[exchange.token] = stream }
    if drains.load(ordering: .relaxed) { stream.end() }
  }

  /// Shows all streams' clients that the daemon is there.
  func beat() { for stream in streams.withLock({ Array($0.values) }) { stream.beat() } }

  // MARK: Ending

  /// Whether connections are to be closed after their answers.
  var isDraining: Bool { drains.load(ordering: .relaxed) }

  /// Whether requests are under way.
  var isIdle: Bool { underWay.load(ordering: .relaxed) <= 0 }

  /// Ends the streams; what else is under way is still answered.
  func drain() {
    drains.store(true, ordering: .relaxed)
    for stream in streams.withLock({ Array($0.values) }) { stream.end() }
  }

  /// Ends the thread; all connections are closed.
  func stop() {
    drain()
    for token in waiting.withLock({ Array($0.keys) }) { finish(token, Self.unavailable) }
    MHD_stop_daemon(daemon)
    daemon = nil
  }
}
