import Glibc

/// Plain threads, as blocking clients would starve Swift's own.
enum Threads {
  fileprivate final class Job: Sendable {
    let index: Int
    let body: @Sendable (Int) -> Void

    init(_ index: Int, _ body: @escaping @Sendable (Int) -> Void) {
      self.index = index
      self.body = body
    }
  }

  /// Runs `body` on `count` threads at once, with their numbers, and waits for all of them.
  static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    join(start(count, body))
  }

  /// Starts threads.
  static func start(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> [pthread_t] {
    (0..<count).map { index in
      var thread = pthread_t()
      let status = pthread_create(&thread, nil, runJob, Unmanaged.passRetained(Job(index, body)).toOpaque())
      precondition(status == 0, "pthread_create: \(status)")
      return thread
    }
  }

  /// Waits for threads.
  static func join(_ threads: [pthread_t]) { for thread in threads { pthread_join(thread, nil) } }
}

private func runJob(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  let job = Unmanaged<Threads.Job>.fromOpaque(context).takeRetainedValue()
  job.body(job.index)
  return nil
}
