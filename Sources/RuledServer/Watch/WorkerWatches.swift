import RuledCore
import RuledWire

/// The watchers on one worker's connections.
final class WorkerWatches {
  private struct Watcher {
    let connection: UInt64
    var cursor: WatchCursor
    /// The batch in whose reply its number stands, until that is sent; 0 for none.
    var batch: UInt64
  }

  /// Unsent bytes of a connection above which its watchers wait.
  private static let unsentBytes = 256 << 10
  /// How soon those that wait for room are looked at again, in milliseconds.
  private static let pause: UInt64 = 5

  private unowned let worker: Worker
  private var watchers: [Int64: Watcher] = [:]
  private var isWaiting = false
  private let notification = ByteBuffer(capacity: 1024)

  /// The watchers of a worker, none yet.
  init(_ worker: Worker) { self.worker = worker }

  private var hub: WatchHub { worker.services.hub }

  /// Begins to tell changes to the connection, from the next turn on or once the batch is answered; answers the watcher's number.
  func begin(_ params: WatchParams, connection: UInt64, batch: UInt64) -> Int64 {
    let cursor = WatchCursor(params, hub: hub)
    watchers[cursor.number] = Watcher(connection: connection, cursor: cursor, batch: batch)
    if batch == 0 { worker.loop.soon { [unowned self] in tell() } }
    return cursor.number
  }

  /// Ends a watcher of the connection.
  func end(_ number: Int64, connection: UInt64) throws(RequestError) {
    guard watchers[number]?.connection == connection else {
      throw RequestError(.notFound, "this connection has no watch \(number)")
    }
    watchers[number] = nil
  }

  /// Lets the watchers be told that a batch began, which has been answered.
  func answered(batch: UInt64) {
    let held = watchers.filter { $0.value.batch == batch }.keys
    guard !held.isEmpty else { return }
    for number in held { watchers[number]?.batch = 0 }
    worker.loop.soon { [unowned self] in tell() }
  }

  /// Ends the watchers of a connection that is gone.
  func closed(_ connection: UInt64) {
    guard !watchers.isEmpty else { return }
    watchers = watchers.filter { $0.value.connection != connection }
  }

  /// Tells what is new, as far as the connections take it.
  func tell() {
    guard !watchers.isEmpty else { return }
    var behind = false
    var told = UInt64.max
    for number in Array(watchers.keys) {
      guard var watcher = watchers[number],
        let connection = worker.table[ConnectionToken(raw: watcher.connection)]
      else {
        watchers[number] = nil
        continue
      }
      guard watcher.batch == 0 else { continue }
      let cursor = watcher.cursor
      let isDone = watcher.cursor.read(hub, while: { connection.unsent < Self.unsentBytes }) { news in
        write(news, cursor, to: connection)
      }
      watchers[number] = watcher
      behind = behind || !isDone
      if isDone { told = min(told, watcher.cursor.after) }
    }
    if behind { tellLater() }
    if told < .max { waitForChanges(after: told) }
  }

  private func write(_ news: WatchCursor.News, _ cursor: WatchCursor, to connection: Connection) {
    notification.removeAll()
    switch news {
    case .lagged: ReplyWriter.beginNotification("lagged", to: notification)
    case .changed: ReplyWriter.beginNotification("changed", to: notification)
    }
    cursor.write(news, to: notification)
    ReplyWriter.endNotification(to: notification)
    ReplyWriter.endLine(to: notification)
    connection.send(notification.bytes)
  }

  private func waitForChanges(after sequence: UInt64) {
    let mailbox = worker.services.workers[worker.index]
    let waits = hub.wake(UInt64(worker.index), after: sequence) { _ = mailbox.send(.perform { $0.watches.tell() }) }
    if !waits { worker.loop.soon { [unowned self] in tell() } }
  }

  private func tellLater() {
    guard !isWaiting else { return }
    isWaiting = true
    do throws(SystemError) {
      try worker.loop.timer(after: Self.pause) { [unowned self] in
        isWaiting = false
        tell()
      }
    } catch {
      isWaiting = false
    }
  }
}
