import CLinux
import Glibc
import Synchronization

package final class Thread: Sendable {
  private let thread: pthread_t
  private let isJoined = Atomic(false)

  /// Starts a thread.
  ///
  /// - Parameters:
  ///   - name: The name in `top -H` and in a debugger; the kernel stores 15 bytes of it.
  ///   - stackBytes: The size of the stack, of which only touched pages take memory. 16 MiB leave room for deep rules and parsers.
  ///   - priority: Which threads go first.
  ///   - body: The closure that the thread runs.
  /// - Throws: When the system lets the process start no further thread.
  package init(
    name: String, stackBytes: Int = 16 << 20, priority: Priority = .normal, _ body: @escaping @Sendable () -> Void
  ) throws(ThreadError) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackBytes)
    let start = Unmanaged.passRetained(Start(name: name, priority: priority, body: body))
    var thread = pthread_t()
    let number = pthread_create(&thread, &attributes, runThread, start.toOpaque())
    guard number == 0 else {
      start.release()
      throw ThreadError(number: number, name: name)
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

  /// Which threads go first when processors or disks are short.
  package enum Priority: Sendable {
    /// As the process: the threads that clients wait for.
    case normal
    /// After these, but it keeps up with them: work that they leave behind.
    case background
    /// After all others, of the disk too: work that may take its time.
    case lowest
    /// Only while a processor has nothing else to do: work that may be left out.
    ///
    /// A thread that wakes with another priority takes the processor from it at once.
    case idle

    /// Gives the calling thread, and threads that it starts, this priority.
    package func apply() {
      switch self {
      case .normal: break
      case .background: cl_lower_priority(5, false)
      case .lowest: cl_lower_priority(19, true)
      case .idle:
        cl_lower_priority(19, true)
        cl_use_idle_processors()
      }
    }
  }

  fileprivate final class Start: Sendable {
    let name: String
    let priority: Priority
    let body: @Sendable () -> Void

    init(name: String, priority: Priority, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.priority = priority
      self.body = body
    }
  }
}

package struct ThreadError: Error, Sendable, Equatable {
  /// The error number, as `errno` has them.
  package let number: Int32
  let name: String
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  let start = Unmanaged<Thread.Start>.fromOpaque(context).takeRetainedValue()
  cl_name_thread(start.name)
  start.priority.apply()
  start.body()
  return nil
}
