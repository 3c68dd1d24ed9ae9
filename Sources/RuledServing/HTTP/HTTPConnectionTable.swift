import RuledCore
import RuledIO

/// The open connections of an HTTP server; confined to its thread.
final class HTTPConnectionTable {
  let loop: EventLoop
  let server: HTTPServer
  let router: HTTPRouter
  let watches: WatchTable
  let received = ByteBuffer(capacity: 16 << 10)
  private var connections: [UInt64: HTTPConnection] = [:]
  /// The connections without a permit, the oldest first.
  private var excess: [UInt64] = []
  private var lastNumber: UInt64 = 0
  private var timer: LoopTimer?

  init(on loop: EventLoop, server: HTTPServer) throws(SystemError) {
    self.loop = loop
    self.server = server
    router = HTTPRouter(server)
    watches = WatchTable(on: loop, server.commits.hub, key: .max, server.services.refusals) { server.readChanges() }
    timer = try LoopTimer(on: loop) { [unowned self] in checkTimeouts(loop.now) }
  }

  var isEmpty: Bool { connections.isEmpty }

  subscript(_ number: UInt64) -> HTTPConnection? { connections[number] }

  /// Calls `body` with every connection, which it may close.
  func forEach(_ body: (HTTPConnection) -> Void) { for connection in Array(connections.values) { body(connection) } }

  func adopt(_ descriptor: Int32, from peer: ClientAccess, with permit: ConnectionPermit?) {
    lastNumber += 1
    do throws(SystemError) {
      SystemCalls.sendAtOnce(descriptor)
      connections[lastNumber] = try HTTPConnection(descriptor, from: peer, with: permit, number: lastNumber, in: self)
      let (server, number, period) = (server, lastNumber, HTTPServer.timeoutCheckPeriod)
      permit?.onEviction { server.evict(number) }
      if permit == nil { limitExcess(adding: number) }
      if connections.count == 1 { timer?.start(after: period, every: period) }
    } catch {
      server.services.log.write(
        LogLine(.warn, "a connection could not be accepted: \(error)"), limitedBy: "a connection over HTTP")
      SystemCalls.close(descriptor)
      permit?.release()
    }
  }

  /// Closes the oldest connection without a permit if there are too many with a new one.
  private func limitExcess(adding number: UInt64) {
    excess.append(number)
    guard excess.count > Limits.probeConnections, let oldest = connections[excess[0]] else { return }
    oldest.turnAway()
    oldest.close()
  }

  func remove(_ connection: HTTPConnection) {
    guard connections.removeValue(forKey: connection.number) != nil else { return }
    excess.removeAll { $0 == connection.number }
    if connections.isEmpty { timer?.stop() }
    connection.permit?.release()
  }

  /// Ends the requests and connections whose timeouts have passed at `now`, in the loop's milliseconds.
  func checkTimeouts(_ now: UInt64) {
    checkStreams()
    forEach { $0.checkTimeouts(now) }
  }

  /// Ends the streams of clients that may watch no longer.
  func checkStreams() { forEach { $0.checkStream() } }

  func close() {
    forEach { $0.close() }
    timer?.close()
    timer = nil
  }
}
