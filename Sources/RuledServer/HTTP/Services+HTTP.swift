import RuledCore
import RuledWire

extension Services {
  /// How often clients that watch are shown that the daemon is there, in milliseconds.
  private static let beat: UInt64 = 15_000
  /// How long, once nothing is under way any more, further requests may still come out of the sockets, in milliseconds.
  private static let grace: UInt64 = 20

  /// Starts the server for clients that speak HTTP.
  func startHTTP(token: BearerToken?, on loop: EventLoop) throws(SystemError) {
    let server = try HTTPServer(self, token: token)
    http.withLock { $0 = server }
    try loop.timer(after: Self.beat, every: Self.beat) { [unowned server] in server.beat() }
  }

  /// Takes a TCP connection, unless there are too many.
  func adoptHTTP(_ descriptor: Int32) {
    guard let server = http.withLock({ $0 }),
      connections.load(ordering: .relaxed) < connectionLimit
    else { return refuseHTTP(descriptor) }
    connections.wrappingAdd(1, ordering: .relaxed)
    server.adopt(descriptor)
  }

  private func refuseHTTP(_ descriptor: Int32) {
    let response = HTTPResponse(
      RequestError(
        .overloaded, "more connections than limits.connections allows", details: [.init("retry_after_ms", 1000)]
      ))
    let buffer = ByteBuffer(capacity: 512)
    response.write(HTTPResponse.Manner(), to: buffer)
    _ = SystemCalls.send(descriptor, buffer.bytes)
    SystemCalls.close(descriptor)
  }

  /// Ends the streams, and calls `done` once what else is under way is answered.
  func drainHTTP(on loop: EventLoop, then done: @escaping () -> Void) {
    http.withLock { $0 }?.drain()
    waitForHTTP(on: loop, then: done)
  }

  private func waitForHTTP(on loop: EventLoop, then done: @escaping () -> Void) {
    do throws(SystemError) {
      try loop.timer(after: Self.grace) { [self] in
        guard let server = http.withLock({ $0 }), !server.isIdle else { return done() }
        waitForHTTP(on: loop, then: done)
      }
    } catch { done() }
  }

  /// Ends the server.
  func stopHTTP() {
    http.withLock { $0 }?.stop()
    http.withLock { $0 = nil }
  }
}
