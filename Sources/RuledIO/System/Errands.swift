package import RuledCore
package import RuledThreads
import Synchronization

/// Work for clients that takes long: each on a thread of its own, so many at a time.
package final class Errands: Sendable {
  private let thread: String
  private let priority: Thread.Priority
  private let most: Int
  /// The reply when so many are under way.
  package let refusal: RequestError
  /// The line for the log if no thread can be started.
  private let failure: String
  private let count = Atomic(0)

  package init(
    on thread: String, _ priority: Thread.Priority = .normal, most: Int, _ refusal: RequestError, _ failure: String
  ) {
    self.thread = thread
    self.priority = priority
    self.most = most
    self.refusal = refusal
    self.failure = failure
  }

  /// Runs `body` on a thread, and passes the result to `reply` there; or an error at once.
  package func run<Value: Sendable>(
    _ body: @escaping @Sendable () -> Result<Value, RequestError>,
    then reply: @escaping @Sendable (Result<Value, RequestError>) -> Void
  ) {
    let end = { @Sendable [self] (result: Result<Value, RequestError>) in
      count.wrappingSubtract(1, ordering: .releasing)
      reply(result)
    }
    guard count.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue <= most else { return end(.failure(refusal)) }
    do throws(SystemError) {
      _ = try Thread.start(name: thread, priority: priority) { end(body()) }
    } catch { end(.failure(RequestError(.unavailable, "\(failure): \(error)"))) }
  }
}
