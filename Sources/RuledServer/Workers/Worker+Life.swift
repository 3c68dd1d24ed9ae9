import RuledCore
import RuledEngine
import RuledWire

extension Worker {
  /// Takes an accepted connection, which is counted already.
  func adopt(_ descriptor: Int32) {
    do throws(SystemError) { _ = try table.adopt(descriptor) } catch {
      services.connections.wrappingSubtract(1, ordering: .relaxed)
      services.context.log.write(LogLine(.warn, "a connection could not be taken: \(error)"))
    }
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
