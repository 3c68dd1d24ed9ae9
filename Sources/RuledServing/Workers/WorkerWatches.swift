import RuledCore
import RuledIO
import RuledJSON
import RuledWire

/// Executes `watch` and `unwatch` for one worker's connections.
final class WorkerWatches {
  private unowned let worker: Worker
  private let table: WatchTable
  private let buffer = ByteBuffer(capacity: 1024)

  init(_ worker: Worker) {
    self.worker = worker
    let services = worker.services
    let mailbox = services.workers[worker.index]
    table = WatchTable(on: worker.loop, worker.commits.hub, key: UInt64(worker.index), services.refusals) {
      _ = mailbox.send(.readChanges)
    }
  }

  /// Executes `watch` and `unwatch`.
  ///
  /// Their replies wait for no commit: notifications have to come after the reply with the watch's number.
  func call(_ request: RequestView, _ target: ReplyTarget) {
    let number: Int64
    do throws(RequestError) {
      number = request.method == .watch ? try begin(request, target) : try end(request, target)
    } catch { return worker.replies.sendError(error, for: request, to: target) }
    guard !request.isNotification else { return worker.replies.sendNothing(to: target) }
    buffer.removeAll()
    ReplyWriter.beginResult(id: request.id, to: buffer)
    var writer = JSONWriter(buffer)
    writer.beginObject()
    writer.member("watch", number)
    writer.endObject()
    ReplyWriter.endResult(to: buffer)
    if target.batch == 0 { ReplyWriter.endLine(to: buffer) }
    worker.replies.dispatch(buffer.bytes, to: target)
  }

  private func begin(_ request: RequestView, _ target: ReplyTarget) throws(RequestError) -> Int64 {
    let params = try WatchParams(request)
    try worker.services.checkRead()
    guard let connection = worker.table[ConnectionToken(raw: target.connection)] else {
      throw RequestError(.unavailable, "the connection has ended")
    }
    let number = try table.begin(params, connection: target.connection, connection, pendingFor: target.batch)
    connection.place?.note(hasWatch: true)
    return number
  }

  private func end(_ request: RequestView, _ target: ReplyTarget) throws(RequestError) -> Int64 {
    let number = try request.watch()
    guard table.end(number, connection: target.connection) else {
      throw RequestError(.notFound, "this connection has no watch \(number)")
    }
    let connection = worker.table[ConnectionToken(raw: target.connection)]
    connection?.place?.note(hasWatch: table.count(connection: target.connection) > 0)
    return number
  }

  /// Begins to notify the watches of a request batch, whose reply was sent.
  func beginNotifying(batch: UInt64) { table.release(pendingFor: batch) }

  func endAll(of connection: UInt64) { table.endAll(connection: connection) }
  func read() { table.read() }
}

extension Connection: WatchReceiver {
  /// The most unsent bytes; beyond that, its watches wait.
  private static let newsLimit = 256 << 10

  var hasRoom: Bool { unsent < Self.newsLimit }

  var isTaking: Bool { !isBlocked }

  func send(_ news: WatchNews, of watch: Int64) {
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
