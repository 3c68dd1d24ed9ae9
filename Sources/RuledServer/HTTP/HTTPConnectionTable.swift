import RuledCore
import RuledEngine

/// The open connections of an HTTP server; confined to its thread.
final class HTTPConnectionTable {
  /// The loop of all connections.
  let loop: EventLoop
  /// The server of the connections.
  let server: HTTPServer
  /// Answers the requests of the connections.
  let router: HTTPRouter
  /// What a connection received last.
  let received = ByteBuffer(capacity: 16 << 10)
  private var connections: [UInt64: HTTPConnection] = [:]
  private var lastNumber: UInt64 = 0
  private var timer: LoopTimer?

  /// An empty table.
  init(on loop: EventLoop, server: HTTPServer) throws(SystemError) {
    self.loop = loop
    self.server = server
    router = HTTPRouter(server)
    timer = try LoopTimer(on: loop) { [unowned self] in checkTimeouts(loop.now) }
  }

  /// Whether there is no connection.
  var isEmpty: Bool { connections.isEmpty }

  /// The connection with a number; nil when it is closed.
  subscript(_ number: UInt64) -> HTTPConnection? { connections[number] }

  /// Calls `body` with every connection, which it may close.
  func forEach(_ body: (HTTPConnection) -> Void) { for connection in Array(connections.values) { body(connection) } }

  /// Takes over a connected socket, which came over the listener for sites if it `isVisitor`.
  func adopt(_ descriptor: Int32, isVisitor: Bool = false) {
    lastNumber += 1
    do throws(SystemError) {
      SystemCalls.sendAtOnce(descriptor)
      connections[lastNumber] = try HTTPConnection(descriptor, isVisitor: isVisitor, number: lastNumber, in: self)
      let period = HTTPServer.timeoutCheckPeriod
      if connections.count == 1 { timer?.start(after: period, every: period) }
    } catch {
      server.services.context.log.write(LogLine(.warn, "a connection could not be accepted: \(error)"))
      SystemCalls.close(descriptor)
      server.countClosedConnection()
    }
  }

  /// Removes a closed connection.
  func remove(_ connection: HTTPConnection) {
    guard connections.removeValue(forKey: connection.number) != nil else { return }
    if connections.isEmpty { timer?.stop() }
    server.countClosedConnection()
  }

  /// Ends the requests and connections whose timeouts have passed at `now`, in the loop's milliseconds.
  func checkTimeouts(_ now: UInt64) { forEach { $0.checkTimeouts(now) } }

  /// Closes all connections.
  func close() {
    forEach { $0.close() }
    timer?.close()
    timer = nil
  }
}
