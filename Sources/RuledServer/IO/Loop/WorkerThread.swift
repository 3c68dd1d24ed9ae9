internal import CUV
internal import Glibc
internal import Synchronization

/// One operating system thread that runs a closure to its end.
package final class WorkerThread: Sendable {
  private let thread: pthread_t
  private let isJoined = Atomic(false)

  /// Starts a thread.
  ///
  /// `name` is what `top -H` and a debugger show; the kernel keeps 15 bytes of it. The stack leaves room for deep rules and
  /// parsers, and only those of its pages are used that are touched.
  package init(
    name: String, stackBytes: Int = 16 << 20, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackBytes)
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var thread = pthread_t()
    let status = pthread_create(&thread, &attributes, runWorkerThread, start.toOpaque())
    guard status == 0 else {
      start.release()
      throw SystemError(status, call: "pthread_create", context: "thread \(name)")
    }
    self.thread = thread
  }

  deinit { if !isJoined.load(ordering: .relaxed) { pthread_detach(thread) } }

  /// Waits for the thread's end; at most once.
  package func join() {
    let (isFirst, _) = isJoined.compareExchange(expected: false, desired: true, ordering: .relaxed)
    precondition(isFirst, "a thread is joined once")
    pthread_join(thread, nil)
  }

  /// What a new thread is told.
  fileprivate final class Start {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
}

private func runWorkerThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  let start = Unmanaged<WorkerThread.Start>.fromOpaque(context).takeRetainedValue()
  _ = ruled_name_thread(pthread_self(), String(decoding: start.name.utf8.prefix(15), as: UTF8.self))
  start.body()
  return nil
}
