import RuledCore
import RuledEngine
import RuledWire

extension Worker {
  /// Takes an accepted connection.
  func adopt(_ descriptor: Int32) {
    do throws(SystemError) {
      _ = try table.adopt(descriptor)
      services.connections.wrappingAdd(1, ordering: .relaxed)
    } catch {
      services.context.log.write(LogLine(.warn, "a connection could not be taken: \(error)"))
    }
  }

  /// Answers a connection beyond the limit and closes it.
  func refuse(_ descriptor: Int32) {
    let error = RequestError(
      .overloaded, "more connections than limits.connections allows", details: [.init("retry_after_ms", json: "1000")])
    replyBuffer.removeAll()
    ReplyWriter.error(error, id: nil, to: replyBuffer)
    ReplyWriter.endLine(to: replyBuffer)
    _ = SystemCalls.send(descriptor, replyBuffer.bytes)
    SystemCalls.close(descriptor)
  }

  /// Answers what has been received whole, closes the connections, and calls `done` once all of it is committed and sent.
  func drain(then done: @escaping () -> Void) {
    table.drain()
    waitUntilIdle(then: done)
  }

  private func waitUntilIdle(then done: @escaping () -> Void) {
    guard table.count > 0 || !isIdle || !batches.isEmpty else { return done() }
    do throws(SystemError) {
      _ = try loop.timer(after: 5, every: 0) { [unowned self] in waitUntilIdle(then: done) }
    } catch {
      done()
    }
  }
}
