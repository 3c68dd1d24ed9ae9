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
  ///
  /// Messages stay in the store for the next start, but for those that a client waits for: these go on for a while.
  func drain(then done: @escaping () -> Void) {
    table.drain()
    inbox.end()
    waitUntilIdle(then: done)
  }

  private func waitUntilIdle(then done: @escaping () -> Void) {
    if inbox.hasEnded, evaluator.isQuiet, submission.replies.isEmpty, services.workers[index].isEmpty {
      answerWaiting()
    }
    guard table.count > 0 || !isIdle || !batches.isEmpty else { return done() }
    do throws(SystemError) {
      _ = try loop.timer(after: 5, every: 0) { [unowned self] in waitUntilIdle(then: done) }
    } catch {
      done()
    }
  }

  /// Answers what waits for messages that will not be applied before the next start.
  private func answerWaiting() {
    let left = waiting
    waiting.removeAll()
    for reply in left.values { send(unfinished: reply.bytes, to: reply.target) }
  }

  /// Sends the outcome of an event whose cascade could not be waited for, and says so in it.
  func send(unfinished reply: [UInt8], to target: ReplyTarget) {
    let end = (reply.lastIndex(of: UInt8(ascii: "}")) ?? 0) - 1
    guard end > 0, reply[end] == UInt8(ascii: "}") else { return reply.withUnsafeBytes { send($0, to: target) } }
    replyBuffer.removeAll()
    reply[..<end].withUnsafeBytes { replyBuffer.append($0) }
    replyBuffer.append(",\"cascade\":\"pending\"" as StaticString)
    reply[end...].withUnsafeBytes { replyBuffer.append($0) }
    send(replyBuffer.bytes, to: target)
  }
}
