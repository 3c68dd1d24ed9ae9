import RuledCore
import RuledEngine
import RuledJSON
import RuledWire

/// The watchers on one worker's connections.
final class WorkerWatches {
  private struct Watcher {
    let connection: UInt64
    var cursor: WatchCursor
    /// The request batch whose reply will hold the watcher's number; 0 if its number was sent.
    var batch: UInt64
  }

  /// Above how many unsent bytes of a connection its watchers wait.
  private static let unsentLimit = 256 << 10
  /// After how many milliseconds watchers that wait for a connection are tried again.
  private static let retryDelay: UInt64 = 5

  private unowned let worker: Worker
  private var watchers: [Int64: Watcher] = [:]
  private var isRetrying = false
  private let buffer = ByteBuffer(capacity: 1024)

  /// No watchers.
  init(_ worker: Worker) { self.worker = worker }

  private var hub: WatchHub { worker.services.hub }

  // MARK: Requests

  /// Executes `watch` and `unwatch`.
  ///
  /// Their replies wait for no commit: notifications have to come after the reply with the watcher's number.
  func call(_ request: RequestView, _ target: ReplyTarget) {
    let number: Int64
    do throws(RequestError) {
      if request.method == .watch {
        number = begin(try WatchParams(request), connection: target.connection, batch: target.batch)
      } else {
        number = try UnwatchParams(request).watch
        try end(number, connection: target.connection)
      }
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
    worker.replies.send(buffer.bytes, to: target)
  }

  /// Adds a watcher, which gets changes from the next tick on, or once its request batch is answered.
  ///
  /// Returns its number.
  private func begin(_ params: WatchParams, connection: UInt64, batch: UInt64) -> Int64 {
    let cursor = WatchCursor(params, hub: hub)
    watchers[cursor.number] = Watcher(connection: connection, cursor: cursor, batch: batch)
    if batch == 0 { worker.loop.onNextTick { [unowned self] in notify() } }
    return cursor.number
  }

  private func end(_ number: Int64, connection: UInt64) throws(RequestError) {
    guard watchers[number]?.connection == connection else {
      throw RequestError(.notFound, "this connection has no watch \(number)")
    }
    watchers[number] = nil
  }

  /// Begins to notify the watchers of a request batch, whose reply was sent.
  func beginNotifying(batch: UInt64) {
    let waiting = watchers.filter { $0.value.batch == batch }.keys
    guard !waiting.isEmpty else { return }
    for number in waiting { watchers[number]?.batch = 0 }
    worker.loop.onNextTick { [unowned self] in notify() }
  }

  /// Removes the watchers of a connection that has ended.
  func removeWatchers(of connection: UInt64) {
    guard !watchers.isEmpty else { return }
    watchers = watchers.filter { $0.value.connection != connection }
  }

  // MARK: Notifications

  /// Sends each watcher the changes that it has not got, as far as its connection takes them.
  func notify() {
    guard !watchers.isEmpty else { return }
    var areBehind = false
    var least = UInt64.max
    for number in Array(watchers.keys) {
      guard var watcher = watchers[number],
        let connection = worker.table[ConnectionToken(raw: watcher.connection)]
      else {
        watchers[number] = nil
        continue
      }
      guard watcher.batch == 0 else { continue }
      let cursor = watcher.cursor
      let isCurrent = watcher.cursor.read(hub, while: { connection.unsent < Self.unsentLimit }) { news in
        send(news, of: cursor, to: connection)
      }
      watchers[number] = watcher
      areBehind = areBehind || !isCurrent
      if isCurrent { least = min(least, watcher.cursor.after) }
    }
    if areBehind { notifyLater() }
    if least < .max { notifyAtNextChange(after: least) }
  }

  private func send(_ news: WatchCursor.News, of cursor: WatchCursor, to connection: Connection) {
    buffer.removeAll()
    switch news {
    case .lagged: ReplyWriter.beginNotification("lagged", to: buffer)
    case .changed: ReplyWriter.beginNotification("changed", to: buffer)
    }
    cursor.write(news, to: buffer)
    ReplyWriter.endNotification(to: buffer)
    ReplyWriter.endLine(to: buffer)
    connection.send(buffer.bytes)
  }

  private func notifyAtNextChange(after sequence: UInt64) {
    let mailbox = worker.services.workers[worker.index]
    let waits = hub.wake(UInt64(worker.index), after: sequence) { _ = mailbox.send(.perform { $0.watches.notify() }) }
    if !waits { worker.loop.onNextTick { [unowned self] in notify() } }
  }

  private func notifyLater() {
    guard !isRetrying else { return }
    isRetrying = true
    do throws(SystemError) {
      try worker.loop.timer(after: Self.retryDelay) { [unowned self] in
        isRetrying = false
        notify()
      }
    } catch {
      isRetrying = false
    }
  }
}
