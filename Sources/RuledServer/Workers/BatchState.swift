import RuledCore
import RuledEngine
import RuledWire

/// A batch under way: its requests are carried out in order, those for one worker's subjects together, and its answers leave as one array.
struct BatchState {
  /// One request of the batch.
  enum Element {
    /// A request, as text of its own.
    case request([UInt8], owner: Int)
    /// What is wrong with it, answered already.
    case answered
  }

  let connection: UInt64
  var elements: [Element] = []
  /// The answers; empty for what is not answered.
  var answers: [[UInt8]] = []
  /// The next request to carry out.
  var next = 0
  /// How many are under way.
  var pending = 0
}

extension Worker {
  /// Begins to carry out a batch.
  func begin(_ batch: RequestBatch, on connection: Connection) {
    var batch = batch
    var state = BatchState(connection: connection.token.raw)
    while let message = batch.next() {
      switch message {
      case .request(let request):
        state.elements.append(.request(Self.text(of: request), owner: owner(of: request)))
        state.answers.append([])
      case .invalid(let id, let error):
        replyBuffer.removeAll()
        ReplyWriter.error(error, id: id, to: replyBuffer)
        state.elements.append(.answered)
        state.answers.append(Array(replyBuffer.bytes))
      }
    }
    let key = nextKey
    nextKey += 1
    batches[key] = state
    begin(on: connection)
    proceed(key)
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

  /// Carries out the next requests that are for the same worker, or sends the answers when there are none left.
  private func proceed(_ key: UInt64) {
    while let state = batches[key], state.pending == 0, state.next < state.elements.count {
      guard case .request(_, let owner) = state.elements[state.next] else {
        batches[key]?.next += 1
        continue
      }
      var group: [Int] = []
      var place = state.next
      while place < state.elements.count, case .request(_, owner) = state.elements[place] {
        group.append(place)
        place += 1
      }
      batches[key]?.next = place
      batches[key]?.pending = group.count
      guard let connection = table[ConnectionToken(raw: state.connection)] else {
        batches[key] = nil
        services.inFlight.wrappingSubtract(1, ordering: .relaxed)
        return
      }
      for place in group {
        guard case .request(let text, _) = state.elements[place] else { continue }
        carryOut(text, target(connection, batch: key, slot: place))
      }
      if batches[key]?.pending != 0 { return }
    }
    if let state = batches[key], state.pending == 0, state.next >= state.elements.count { finish(key, state) }
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
    guard batches[key] != nil else { return }
    batches[key]?.answers[slot] = Array(bytes)
    batches[key]?.pending -= 1
    if batches[key]?.pending == 0 { loop.soon { [unowned self] in proceed(key) } }
  }

  private func finish(_ key: UInt64, _ state: BatchState) {
    batches[key] = nil
    replyBuffer.removeAll()
    var reply = BatchReply()
    for answer in state.answers where !answer.isEmpty {
      reply.begin(to: replyBuffer)
      answer.withUnsafeBytes { replyBuffer.append($0) }
    }
    if !reply.isEmpty {
      reply.end(to: replyBuffer)
      ReplyWriter.endLine(to: replyBuffer)
    }
    send(replyBuffer.bytes, to: ReplyTarget(worker: index, connection: state.connection, isAdmin: false))
    watches.answered(batch: key)
  }
}
