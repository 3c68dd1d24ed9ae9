import RuledCore
import RuledEngine
import RuledWire

/// A batch under way: its requests are carried out in order, a share of them in a turn, and its answers leave as one array.
///
/// The worker takes no further line from the connection until the last request is on its way, so that events keep the order in which they were sent.
final class BatchState {
  /// One request of the batch.
  enum Element {
    /// A request, as text of its own.
    case request([UInt8], owner: Int)
    /// It is on its way, or what is wrong with it is answered already.
    case done
  }

  /// Where the whole answer goes.
  let target: ReplyTarget
  var elements: [Element] = []
  /// The answers; empty for what is not answered.
  var answers: [[UInt8]] = []
  /// The next request to carry out.
  var next = 0
  /// How many are under way, all of one worker.
  var pending = 0
  /// The worker whose they are.
  var owner = 0
  /// Whether it has its turn, or waits for it.
  var isDue = true

  /// A batch without requests.
  init(_ target: ReplyTarget) { self.target = target }

  /// Whether every request is on its way.
  var isOnItsWay: Bool { next == elements.count }
}

/// The batches under way of one worker, and whose turn it is next.
struct BatchQueue {
  fileprivate var batches: [UInt64: BatchState] = [:]
  fileprivate var due: [UInt64] = []
  fileprivate var hasTurn = false

  /// Whether there is none.
  var isEmpty: Bool { batches.isEmpty }
}

extension Services {
  /// What a batch is answered with that has more requests than may be in flight.
  var batchTooLong: RequestError {
    RequestError(.tooLarge, "a batch may have \(context.configuration.limits.inFlight) requests at most: send several")
  }
}

extension Worker {
  /// How long a share of a batch may take, in nanoseconds.
  private static let shareTime: UInt64 = 2_000_000

  /// Begins to carry out a batch.
  func begin(_ batch: RequestBatch, on connection: Connection) {
    var batch = batch
    let state = BatchState(target(connection))
    while let message = batch.next() {
      guard state.elements.count < services.context.configuration.limits.inFlight else {
        return answer(services.batchTooLong, id: nil, on: connection)
      }
      switch message {
      case .request(let request):
        state.elements.append(.request(Self.text(of: request), owner: owner(of: request)))
        state.answers.append([])
      case .invalid(let id, let error):
        replyBuffer.removeAll()
        ReplyWriter.error(error, id: id, to: replyBuffer)
        state.elements.append(.done)
        state.answers.append(Array(replyBuffer.bytes))
      }
    }
    let key = nextKey
    nextKey += 1
    batches.batches[key] = state
    begin(on: connection)
    proceed(key, state)
    if !state.isOnItsWay { connection.hold() }
  }

  /// The request as a JSON-RPC object of its own.
  private static func text(of request: RequestView) -> [UInt8] {
    let buffer = ByteBuffer(capacity: request.paramsText.count + 128)
    buffer.append("{\"jsonrpc\":\"2.0\",\"method\":" as StaticString)
    buffer.append(jsonString: request.methodName)
    if let id = request.id {
      buffer.append(",\"id\":" as StaticString)
      buffer.append(id)
    }
    if !request.paramsText.isEmpty {
      buffer.append(",\"params\":" as StaticString)
      buffer.append(request.paramsText)
    }
    buffer.append(UInt8(ascii: "}"))
    return Array(buffer.bytes)
  }

  /// Carries out a share of a batch, or sends the answers when all are there.
  ///
  /// Requests for one worker follow each other at once where that is this one, and a share after the other where it is another one, which is so
  /// not flooded. Those for the next worker wait for the answers to all before them.
  private func proceed(_ key: UInt64, _ batch: BatchState) {
    batch.isDue = true
    let start = EventLoop.nanoseconds
    var count = 0
    var isDue = false
    while batch.next < batch.elements.count {
      let place = batch.next
      guard case .request(let text, let owner) = batch.elements[place] else {
        batch.next += 1
        continue
      }
      if batch.pending > 0, owner != batch.owner { break }
      guard count < Limits.batchShare, EventLoop.nanoseconds - start < Self.shareTime else {
        isDue = owner == index || batch.pending == 0
        break
      }
      if owner != index, batch.pending >= Limits.batchShare { break }
      batch.elements[place] = .done
      batch.next += 1
      batch.owner = owner
      batch.pending += 1
      count += 1
      carryOut(
        text,
        ReplyTarget(
          worker: index, connection: batch.target.connection, batch: key, slot: place, isAdmin: batch.target.isAdmin))
    }
    batch.isDue = false
    if batch.isOnItsWay {
      table[ConnectionToken(raw: batch.target.connection)]?.release()
      if batch.pending == 0 { finish(key, batch) }
    } else if isDue || batch.pending == 0 {
      schedule(key, batch)
    }
  }

  /// Gives a batch its next turn behind those of the others.
  private func schedule(_ key: UInt64, _ batch: BatchState) {
    batch.isDue = true
    batches.due.append(key)
    giveTurn()
  }

  private func giveTurn() {
    guard !batches.hasTurn, !batches.due.isEmpty else { return }
    batches.hasTurn = true
    loop.soon { [unowned self] in
      batches.hasTurn = false
      let key = batches.due.removeFirst()
      if let batch = batches.batches[key] { proceed(key, batch) }
      giveTurn()
    }
  }

  private func carryOut(_ text: [UInt8], _ target: ReplyTarget) {
    text.withUnsafeBytes { bytes in
      document = forwardedParser.document.handle
      defer { document = parser.document.handle }
      guard case .single(.request(let request)) = forwardedParser.parse(bytes) else { return }
      route(request, text: bytes, target: target)
    }
  }

  /// Takes an answer of a batch.
  func took(_ bytes: UnsafeRawBufferPointer, batch key: UInt64, slot: Int) {
    guard let batch = batches.batches[key] else { return }
    batch.answers[slot] = Array(bytes)
    batch.pending -= 1
    if batch.pending == 0, !batch.isDue { schedule(key, batch) }
  }

  private func finish(_ key: UInt64, _ batch: BatchState) {
    batches.batches[key] = nil
    replyBuffer.removeAll()
    var reply = BatchReply()
    for answer in batch.answers where !answer.isEmpty {
      reply.begin(to: replyBuffer)
      answer.withUnsafeBytes { replyBuffer.append($0) }
    }
    if !reply.isEmpty {
      reply.end(to: replyBuffer)
      ReplyWriter.endLine(to: replyBuffer)
    }
    send(replyBuffer.bytes, to: batch.target)
    watches.answered(batch: key)
  }
}
