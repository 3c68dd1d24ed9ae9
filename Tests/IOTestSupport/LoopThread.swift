import Glibc
package import RuledIO
import RuledThreads
import Synchronization
import TestSupport

/// An event loop on a thread of its own, for tests that talk to it from outside.
package final class LoopThread: Sendable {
  private let inbox = Mailbox<@Sendable (EventLoop) -> Void>()
  private let thread: Thread

  package init() throws {
    let inbox = inbox
    thread = try Thread.start(name: "test-loop") {
      do {
        let loop = try EventLoop()
        try inbox.attach(to: loop) { batch in for body in batch { body(loop) } }
        loop.run()
        inbox.close()
        loop.close()
      } catch {
        fatalError("\(error)")
      }
    }
  }

  /// Runs `body` on the loop's thread, later.
  package func post(_ body: @escaping @Sendable (EventLoop) -> Void) { inbox.send(body) }

  /// Runs `body` on the loop's thread and waits for its result.
  @discardableResult
  package func call<Result: Sendable>(_ body: @escaping @Sendable (EventLoop) -> Result) -> Result {
    let answer = Signal<Result>()
    post { answer.set(body($0)) }
    return answer.wait()
  }

  /// Ends the loop, closes what is open on it and waits for the thread.
  package func end() {
    post { $0.stop() }
    thread.join()
  }
}

/// Holds an object that belongs to one loop, in a test whose objects are shared.
package final class Confined<Value>: @unchecked Sendable {  // touched only in closures that run on the loop's thread
  package var value: Value?

  package init() {}
}

/// A value that one thread sets and another waits for.
package final class Signal<Value: Sendable>: Sendable {
  private let value: Mutex<Value?> = Mutex(nil)

  package init() {}

  package func set(_ new: Value) { value.withLock { $0 = new } }

  package func wait(file: StaticString = #fileID, line: UInt = #line) -> Value {
    var signalled: Value?
    let isSet = eventually {
      signalled = value.withLock { $0 }
      return signalled != nil
    }
    guard isSet, let signalled else { fatalError("the signal did not come", file: file, line: line) }
    return signalled
  }
}
