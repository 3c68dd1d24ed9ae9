import RuledCore
import RuledIO
import RuledWire

/// Sends replies of one worker to the sources of their requests: a connection of this worker, another worker's, a request batch, or HTTP.
final class ReplySender {
  private let worker: Int
  private let services: Services
  private let table: ConnectionTable
  private let requestBatches: RequestBatches
  private let pool: BundlePool
  /// The replies of this tick for other workers' connections, by worker.
  private var bundles: [TextBundle?]
  /// Room for a reply.
  let buffer = ByteBuffer(capacity: 4096)

  init(worker: Int, services: Services, table: ConnectionTable, requestBatches: RequestBatches, pool: BundlePool) {
    self.worker = worker
    self.services = services
    self.table = table
    self.requestBatches = requestBatches
    self.pool = pool
    bundles = Array(repeating: nil, count: services.workers.count)
  }

  /// Sends a reply: empty for a notification, and with a newline at its end unless it is part of a request batch.
  func dispatch(_ bytes: ByteView, to target: ReplyTarget) {
    switch target.receiver {
    case .http: services.web.withLock { $0 }?.takeReply(bytes, for: target)
    case .worker(worker) where target.batch == 0: sendToConnection(bytes, target)
    case .worker(worker): requestBatches.add(bytes, to: target)
    case .worker(let other):
      let bundle = bundles[other] ?? pool.bundle()
      bundles[other] = bundle
      bundle.add(bytes, to: target)
    }
  }

  private func sendToConnection(_ bytes: ByteView, _ target: ReplyTarget) {
    services.inFlight.wrappingSubtract(1, ordering: .relaxed)
    guard let connection = table[ConnectionToken(raw: target.connection)] else { return }
    if !bytes.isEmpty { connection.addOutput(bytes) }
    connection.endRequest()
  }

  /// Sends an error as the reply to the request with the id `id`, which is nil if it could not be read.
  func sendError(_ error: RequestError, id: ByteView?, to target: ReplyTarget) {
    services.figures[worker].noteRefusal(error.code)
    ReplyWriter.error(error, id: id, isAlone: target.batch == 0, replacing: buffer)
    dispatch(buffer.bytes, to: target)
  }

  /// Sends an error as the reply to a request, or nothing if the request is a notification.
  func sendError(_ error: RequestError, for request: RequestView, to target: ReplyTarget) {
    if request.isNotification { return sendNothing(to: target) }
    sendError(error, id: request.id, to: target)
  }

  /// Ends a request without a reply: a notification.
  func sendNothing(to target: ReplyTarget) {
    buffer.removeAll()
    dispatch(buffer.bytes, to: target)
  }

  /// Sends an error about a line that is no request, and so does not count as one in flight.
  func sendError(_ error: RequestError, id: ByteView? = nil, on connection: Connection) {
    services.figures[worker].noteRefusal(error.code)
    ReplyWriter.error(error, id: id, isAlone: true, replacing: buffer)
    connection.addOutput(buffer.bytes)
  }

  /// Sends the replies that another worker has made for this worker's connections.
  func sendAll(in bundle: TextBundle) {
    for reply in bundle.texts { dispatch(bundle.bytes(of: reply), to: reply.target) }
    pool.putBack(bundle)
  }

  /// Hands this tick's replies for other workers' connections to these workers.
  func forwardReplies() {
    for index in bundles.indices {
      if let bundle = bundles[index].take() { services.workers[index].send(.replies(bundle)) }
    }
  }
}
