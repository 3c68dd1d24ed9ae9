import RuledCore
import RuledIO
import RuledJSON
import RuledWire

/// A client's request batch under way; its replies leave together, as one array.
final class PendingRequestBatch {
  /// The receiver of the whole reply.
  let target: ReplyTarget
  /// The requests as texts of their own, each with its `Router.owner`; nil for an invalid one, and for one that is executed or forwarded.
  private var elements: [(text: [UInt8], owner: Int?)?] = []
  /// The replies by request; empty where there is none.
  private var replies: [[UInt8]] = []
  fileprivate private(set) var replyBytes = 0
  /// The bytes of replies that this worker wrote, those that wait for a commit included.
  private var writtenBytes = 0
  private var next = 0
  /// The number of forwarded requests without a reply; all of them are for `owner`.
  private var pending = 0
  private var owner: Int?
  /// Whether it is in the queue of `RequestBatches`, or its requests are being executed right now.
  fileprivate var isScheduled = true

  /// A batch none of whose requests is executed; throws if it has more requests than may be in flight.
  init(_ batch: RequestBatch, target: ReplyTarget, services: Services, router: Router) throws(RequestError) {
    self.target = target
    let buffer = ByteBuffer(capacity: 512)
    var batch = batch
    while let message = batch.next() {
      guard elements.count < services.context.configuration.limits.inFlight else { throw services.requestBatchTooLong }
      switch message {
      case .request(let request):
        elements.append((Self.text(of: request), router.owner(of: request)))
        replies.append([])
      case .invalid(let id, let error):
        ReplyWriter.error(error, id: id, isAlone: false, replacing: buffer)
        elements.append(nil)
        replies.append(Array(buffer.bytes))
      }
    }
  }

  /// Whether its replies take as much as they may.
  fileprivate var isFull: Bool { max(replyBytes, writtenBytes) > RequestTurn.mostBytes }

  /// Whether every request is executed or forwarded.
  var isForwarded: Bool { next == elements.count }

  var isComplete: Bool { isForwarded && pending == 0 }
  fileprivate var hasNoPending: Bool { pending == 0 }

  /// The request as a JSON-RPC object of its own.
  private static func text(of request: RequestView) -> [UInt8] {
    let buffer = ByteBuffer(capacity: request.paramsText.count + 128)
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("jsonrpc", plain: "2.0")
    writer.member("method", string: request.methodName)
    if let id = request.id { writer.member("id", raw: id) }
    if !request.paramsText.isEmpty { writer.member("params", raw: request.paramsText) }
    writer.endObject()
    return Array(buffer.bytes)
  }

  /// Passes requests to `body`, which returns the bytes of a reply that this worker wrote: for up to `RequestTurn.nanoseconds`, up to
  /// `RequestTurn.requests` of them, and until their replies take `RequestTurn.bytes`.
  ///
  /// Returns whether another turn follows in a later tick; otherwise nothing happens until replies come.
  ///
  /// Requests about subjects of the same worker follow each other at once. Requests for the next worker, and those that depend on no single one, wait
  /// for the replies to all before them. So do, for another worker, requests beyond a turn, so that it is not flooded.
  fileprivate func forEachOfTurn(on worker: Int, _ body: ([UInt8], _ index: Int) -> Int) -> Bool {
    let start = MonotonicClock.nanoseconds
    let before = writtenBytes
    var count = 0
    while next < elements.count {
      let index = next
      guard let (text, requestOwner) = elements[index] else {
        next += 1
        continue
      }
      if pending > 0, requestOwner == nil || requestOwner != owner { return false }
      guard count < RequestTurn.requests, MonotonicClock.nanoseconds - start < RequestTurn.nanoseconds,
        writtenBytes - before < RequestTurn.bytes
      else {
        return requestOwner == worker || pending == 0
      }
      if requestOwner != worker, pending >= RequestTurn.length(replies: next - pending, bytes: replyBytes) {
        return false
      }
      elements[index] = nil
      next += 1
      owner = requestOwner
      pending += 1
      count += 1
      writtenBytes += body(text, index)
    }
    return false
  }

  fileprivate func add(_ reply: ByteView, at index: Int) {
    replies[index] = Array(reply)
    replyBytes += reply.count
    pending -= 1
  }

  /// Drops the replies so far, as their connection has closed; the other requests are still executed.
  fileprivate func dropReplies() {
    if replyBytes > 0 { replies = replies.map { _ in [] } }
    replyBytes = 0
  }

  /// Writes the reply to the whole batch: nothing if all its requests were notifications.
  fileprivate func writeReply(to buffer: ByteBuffer) {
    buffer.removeAll()
    var array = BatchReply()
    for reply in replies where !reply.isEmpty {
      array.begin(to: buffer)
      reply.withView { buffer.append($0) }
    }
    guard !array.isEmpty else { return }
    array.end(to: buffer)
    ReplyWriter.endLine(to: buffer)
  }
}

/// The request batches under way of one worker's connections, one turn of one batch a tick.
///
/// The worker takes no further line from a connection until the last request of its batch is executed or forwarded, so that requests keep their
/// order.
final class RequestBatches {
  private let loop: EventLoop
  private let table: ConnectionTable
  private var batches: [UInt64: PendingRequestBatch] = [:]
  private var lastKey: UInt64 = 0
  /// The batches that wait for a tick.
  private var queue = TurnOrder<UInt64>()

  init(loop: EventLoop, _ table: ConnectionTable) {
    self.loop = loop
    self.table = table
  }

  var isEmpty: Bool { batches.isEmpty }

  func begin(_ batch: PendingRequestBatch, on worker: Worker) {
    lastKey += 1
    batches[lastKey] = batch
    executeTurn(of: batch, key: lastKey, on: worker)
  }

  /// Gives a turn to the next batch.
  func executeNextTurn(on worker: Worker) {
    guard let key = queue.removeNext() else { return }
    if let batch = batches[key] { executeTurn(of: batch, key: key, on: worker) }
    if !queue.isEmpty { loop.onNextTick {} }
  }

  func add(_ reply: ByteView, to target: ReplyTarget) {
    guard let batch = batches[target.batch] else { return }
    let connection = connection(of: batch)
    if connection == nil { batch.dropReplies() }
    batch.add(connection == nil ? ByteView.empty : reply, at: target.slot)
    connection?.countWaiting(reply.count)
    if batch.hasNoPending, !batch.isScheduled { schedule(batch, key: target.batch) }
  }

  private func connection(of batch: PendingRequestBatch) -> Connection? {
    table[ConnectionToken(raw: batch.target.connection)]
  }

  private func schedule(_ batch: PendingRequestBatch, key: UInt64) {
    batch.isScheduled = true
    if queue.isEmpty { loop.onNextTick {} }
    queue.append(key, of: batch.target.owner)
  }

  private func executeTurn(of batch: PendingRequestBatch, key: UInt64, on worker: Worker) {
    batch.isScheduled = true
    connection(of: batch)?.noticeHangUp()
    // Once all of it is forwarded, the connection's lines may be held for another batch.
    let pausesLines = !batch.isForwarded
    let hasTurn = batch.forEachOfTurn(on: worker.index) { text, index in
      let whole = batch.target
      let target = ReplyTarget(
        whole.receiver, connection: whole.connection, batch: key, slot: index, isAdmin: whole.isAdmin,
        owner: whole.owner)
      guard batch.isFull else { return worker.routeElement(text, target) }
      text.withView { worker.refuseRequest($0, target) }
      return 0
    }
    batch.isScheduled = false
    if batch.isForwarded {
      if pausesLines { connection(of: batch)?.resumeLines() }
      if batch.isComplete { sendWholeReply(of: batch, key: key, on: worker) }
    } else if hasTurn || batch.hasNoPending {
      schedule(batch, key: key)
    }
  }

  private func sendWholeReply(of batch: PendingRequestBatch, key: UInt64, on worker: Worker) {
    batches[key] = nil
    connection(of: batch)?.countWaiting(-batch.replyBytes)
    batch.writeReply(to: worker.replies.buffer)
    worker.replies.dispatch(worker.replies.buffer.bytes, to: batch.target)
    worker.watches.release(pendingFor: key)
  }
}

extension Services {
  /// The reply to a request batch that has more requests than may be in flight.
  var requestBatchTooLong: RequestError {
    RequestError(.tooLarge, "a batch may have \(context.configuration.limits.inFlight) requests at most: send several")
  }
}
