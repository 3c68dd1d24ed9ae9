import RuledCore
import RuledIO
import RuledWire

/// The methods `watch` and `unwatch`.
extension Worker {
  /// Executes `watch` and `unwatch`.
  ///
  /// Their replies wait for no commit: notifications have to come after the reply with the watch's number.
  func callWatch(_ request: RequestView, _ target: ReplyTarget) {
    let number: Int64
    do throws(RequestError) {
      number = request.method == .watch ? try beginWatch(request, target) : try endWatch(request, target)
    } catch { return replies.sendError(error, for: request, to: target) }
    guard !request.isNotification else { return replies.sendNothing(to: target) }
    let buffer = replies.buffer
    buffer.removeAll()
    ReplyWriter.result(.object(["watch": .integer(number)]), id: request.id, to: buffer)
    if target.batch == 0 { ReplyWriter.endLine(to: buffer) }
    replies.dispatch(buffer.bytes, to: target)
  }

  private func beginWatch(_ request: RequestView, _ target: ReplyTarget) throws(RequestError) -> Int64 {
    let params = try WatchParams(request)
    try services.checkRead()
    guard let connection = table[ConnectionToken(raw: target.connection)] else {
      throw RequestError(.unavailable, "the connection has ended")
    }
    let number = try watches.begin(params, connection: target.connection, connection, pendingFor: target.batch)
    connection.permit?.note(hasWatch: true)
    return number
  }

  private func endWatch(_ request: RequestView, _ target: ReplyTarget) throws(RequestError) -> Int64 {
    let number = try request.watch()
    guard watches.end(number, connection: target.connection) else {
      throw RequestError(.notFound, "this connection has no watch \(number)")
    }
    let connection = table[ConnectionToken(raw: target.connection)]
    connection?.permit?.note(hasWatch: watches.count(connection: target.connection) > 0)
    return number
  }
}

extension Connection: WatchReceiver {
  /// The most unsent bytes; beyond that, its watches wait.
  private static let newsLimit = 256 << 10

  var hasRoom: Bool { unsent < Self.newsLimit }

  var isTaking: Bool { !isBlocked }

  func addNews(_ news: WatchNews, of watch: Int64) {
    withOutput { output in
      switch news {
      case .lagged: ReplyWriter.beginNotification("lagged", to: output)
      case .changed: ReplyWriter.beginNotification("changed", to: output)
      }
      news.write(to: output, of: watch)
      ReplyWriter.endNotification(to: output)
      ReplyWriter.endLine(to: output)
    }
  }

  func endNews() {}
}
