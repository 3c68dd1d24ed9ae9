import RuledCore
import RuledIO
import RuledServing
import RuledWire

/// Requests of a follower's clients: sent to the owner, asked of the database, or refused.
extension StandbyServer {
  func receiveLine(_ line: ByteView, on connection: Connection) {
    reply.removeAll()
    let parsed = parser.parseRequest(line, readable: line.count + LineFramer.padding)
    if case .single(.request(let request)) = parsed, Self.isForDatabase(request.method) {
      return ask(request, connection)
    } else if case .single(.request(let request)) = parsed, request.method == .health {
      guard answer(.request(request), refusal) else { return }
    } else if let client = client(connection) {
      guard let overload = overload(of: client) else { return client.forward(line, parsed) }
      guard refuse(parsed, overload) else { return }
    } else {
      guard refuse(parsed, refusal) else { return }
    }
    ReplyWriter.endLine(to: reply)
    connection.addOutput(reply.bytes)
  }

  /// The client of a connection, with its tunnel to the owner; nil without a link to the owner.
  private func client(_ connection: Connection) -> ForwardedLines? {
    if let client = clients[connection.token] { return client }
    guard let route, route.hasLink else { return nil }
    let rights = ClientAccess(.lines, isAdmin: admins.include(connection), isCourier: couriers.include(connection))
    let client = ForwardedLines(connection, on: loop, rights, route, unanswered)
    clients[connection.token] = client
    return client
  }

  /// Why nothing more of a client is sent to the owner; nil while there is room for it.
  private func overload(of client: ForwardedLines) -> RequestError? {
    let limits = configuration.limits
    guard unanswered.isFull(client.client.isAdmin ? limits.inFlight : limits.unreserved(of: limits.inFlight)) else {
      return nil
    }
    return RequestError(
      .overloaded, "too many requests wait for the owner of the log of commits; try again", retryAfter: 100)
  }

  /// Writes refusals of the requests in a line; returns false if none of them wants an answer.
  private func refuse(_ line: RequestLine, _ refusal: RequestError) -> Bool {
    switch line {
    case .single(let message): return answer(message, refusal)
    case .invalid(let error): ReplyWriter.error(error, id: nil, to: reply)
    case .batch(var batch):
      var replies = BatchReply()
      let part = ByteBuffer(capacity: 1024)
      while let message = batch.next() {
        let start = reply.count
        guard answer(message, refusal) else { continue }
        part.removeAll()
        part.append(reply.bytes.extracting(start...))
        reply.truncate(to: start)
        replies.begin(to: reply)
        reply.append(part)
      }
      replies.end(to: reply)
      return !replies.isEmpty
    }
    return true
  }

  /// Appends the answer to a message to `reply`; returns false if it wants none.
  private func answer(_ message: RequestMessage, _ refusal: RequestError) -> Bool {
    switch message {
    case .invalid(let id, let error): ReplyWriter.error(error, id: id, to: reply)
    case .request(let request):
      guard let id = request.id else { return false }
      if request.method == .health {
        ReplyWriter.result(health, id: id, to: reply)
      } else {
        ReplyWriter.error(refusal, id: id, to: reply)
      }
    }
    return true
  }

  private static func isForDatabase(_ method: Method) -> Bool {
    switch method {
    case .cluster, .clusterDrain, .clusterUndrain: true
    default: false
    }
  }

  /// Executes a request on a thread that asks the database; the reply comes through `late`.
  private func ask(_ request: RequestView, _ connection: Connection) {
    guard let id = request.id.map({ Array($0) }) else { return }
    let (token, late) = (connection.token, late)
    connection.beginRequest()
    do throws(RequestError) {
      guard admins.include(connection) else { throw Administrators.refusal }
      membership.answer(try ClusterParams(request)) {
        _ = late.send(LateReply(connection: token, id: id, result: $0))
      }
    } catch { finish(LateReply(connection: token, id: id, result: .failure(error))) }
  }

  /// Replies to a request that another thread has worked on.
  func finish(_ late: LateReply) {
    guard let connection = table[late.connection] else { return }
    reply.removeAll()
    late.id.withView { id in
      switch late.result {
      case .success(let value): ReplyWriter.result(value, id: id, to: reply)
      case .failure(let error): ReplyWriter.error(error, id: id, to: reply)
      }
    }
    ReplyWriter.endLine(to: reply)
    connection.addOutput(reply.bytes)
    connection.endRequest()
  }

  func reportSkippedLine(_ reason: LineFramer.SkipReason, on connection: Connection) {
    let error = reason.error(requestBytes: configuration.limits.requestBytes)
    ReplyWriter.error(error, id: nil, isAlone: true, replacing: reply)
    connection.addOutput(reply.bytes)
  }
}
