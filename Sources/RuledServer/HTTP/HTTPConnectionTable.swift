import RuledCore
import RuledEngine

/// The connections that speak HTTP, confined to the server's loop.
final class HTTPConnectionTable {
  /// The loop of all of them.
  let loop: EventLoop
  /// Whose they are.
  let server: HTTPServer
  /// Room that bytes are received in.
  let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 64)
  private var connections: [UInt64: HTTPConnection] = [:]
  private var lastNumber: UInt64 = 0
  private var timer: LoopTimer?

  /// No connections.
  init(on loop: EventLoop, server: HTTPServer) throws(SystemError) {
    self.loop = loop
    self.server = server
    timer = try LoopTimer(on: loop) { [unowned self] in endLate(loop.now) }
  }

  deinit { space.deallocate() }

  /// What the threads share.
  var services: Services { server.services }

  /// Takes over a connected socket.
  func adopt(_ descriptor: Int32) {
    lastNumber += 1
    do throws(SystemError) {
      SystemCalls.sendAtOnce(descriptor)
      connections[lastNumber] = try HTTPConnection(descriptor, number: lastNumber, in: self)
      if connections.count == 1 { timer?.start(after: HTTPServer.checkTime, every: HTTPServer.checkTime) }
    } catch {
      services.context.log.write(LogLine(.warn, "a connection could not be taken: \(error)"))
      SystemCalls.close(descriptor)
      server.disconnected()
    }
  }

  /// Forgets a connection that is over.
  func remove(_ connection: HTTPConnection) {
    guard connections.removeValue(forKey: connection.number) != nil else { return }
    if connections.isEmpty { timer?.stop() }
    server.disconnected()
  }

  /// Whether there is none.
  var isEmpty: Bool { connections.isEmpty }

  /// The connection of a number, or nil when it is over.
  subscript(_ number: UInt64) -> HTTPConnection? { connections[number] }

  /// Calls `body` with every connection; it may end them.
  func forEach(_ body: (HTTPConnection) -> Void) { for connection in Array(connections.values) { body(connection) } }

  /// Ends all connections.
  func close() {
    forEach { $0.close() }
    timer?.close()
    timer = nil
  }

  /// Ends what has taken too long by `now`, in the loop's milliseconds.
  func endLate(_ now: UInt64) { forEach { $0.endLate(now) } }
}
