import Glibc
import Testing

/// All tests of the real programs, one after the other, because each loads the host.
@Suite(.serialized) enum EndToEnd {
  /// How many events the heavy tests send.
  static let events = 16_000
  /// How many connections they send them over.
  static let connections = 8
  /// How often the rules are reloaded under load.
  static let reloads = 200
}

extension Trait where Self == ConditionTrait {
  /// Leaves a test out while three nodes take the place of the daemon, for a reason.
  static func oneDaemon(_ reason: Comment) -> Self { .disabled(if: RuledDaemon.isCluster, reason) }
}

/// Plain threads: blocking clients would starve the threads of Swift's concurrency.
enum Threads {
  fileprivate final class Job: Sendable {
    let index: Int
    let body: @Sendable (Int) -> Void

    init(_ index: Int, _ body: @escaping @Sendable (Int) -> Void) {
      self.index = index
      self.body = body
    }
  }

  /// Runs `body` with the numbers from 0 on `count` threads at once, and waits for all.
  static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    join(start(count, body))
  }

  static func start(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> [pthread_t] {
    (0..<count).map { index in
      var thread = pthread_t()
      let status = pthread_create(&thread, nil, runJob, Unmanaged.passRetained(Job(index, body)).toOpaque())
      precondition(status == 0, "pthread_create: \(status)")
      return thread
    }
  }

  static func join(_ threads: [pthread_t]) { for thread in threads { pthread_join(thread, nil) } }
}

private func runJob(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  let job = Unmanaged<Threads.Job>.fromOpaque(context).takeRetainedValue()
  job.body(job.index)
  return nil
}
