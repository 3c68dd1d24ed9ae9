import CLinux
import Glibc
import Synchronization

/// One operating system thread that runs a closure to its end.
package final class Thread: Sendable {
  private let thread: pthread_t
  private let isJoined = Atomic(false)

  /// Starts a thread.
  ///
  /// - Parameters:
  ///   - name: What `top -H` and a debugger show; the kernel stores 15 bytes of it.
  ///   - stackBytes: The size of the stack, of which only the pages that are touched take memory. 16 MiB leave room for deep rules and parsers.
  ///   - priority: Which threads go first.
  ///   - body: What the thread runs.
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
    /// After those, but it keeps up with them: what their work leaves behind.
    case background
    /// After all others, of the disk too: work that may take its time.
    case lowest
    /// Only while a processor has nothing else to do: work that may be left out.
    ///
    /// A thread that wakes with another priority takes the processor from it at once.
    case idle

    /// Gives the calling thread, and those that it starts, this priority.
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

  /// What a new thread begins with.
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

/// A thread that can't be started.
package struct ThreadError: Error, Sendable, Equatable {
  /// The error number, as `errno` has them.
  package let number: Int32
  package let name: String
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  let start = Unmanaged<Thread.Start>.fromOpaque(context).takeRetainedValue()
  cl_name_thread(start.name)
  start.priority.apply()
  start.body()
  return nil
}

/// A lock with a condition variable: its holder can wait for what another thread changes under the lock.
package final class Condition: @unchecked Sendable {  // the lock guards itself, and its memory never moves
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  /// A lock that nobody holds.
  package init() {
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Runs `body` under the lock.
  package func locked<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Runs `body` under the lock, then wakes all who wait, so that they try again.
  package func signal(_ body: () -> Void) {
    locked(body)
    wakeAll()
  }

  /// Wakes all who wait, so that they try again.
  package func wakeAll() { pthread_cond_broadcast(condition) }

  /// Calls `body` under the lock, again after each wake, until it returns something.
  package func wait<Result>(for body: () -> Result?) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = body() { return result }
      pthread_cond_wait(condition, mutex)
    }
  }

  /// Calls `body` under the lock, again after each wake, until it returns something or so many milliseconds have passed; then nil.
  package func wait<Result>(milliseconds: Int, for body: () -> Result?) -> Result? {
    wait(microseconds: milliseconds * 1000, for: body)
  }

  /// Calls `body` under the lock, again after each wake, until it returns something or so many microseconds have passed; then nil.
  package func wait<Result>(microseconds: Int, for body: () -> Result?) -> Result? {
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    end.tv_sec += microseconds / 1_000_000
    end.tv_nsec += microseconds % 1_000_000 * 1000
    if end.tv_nsec >= 1_000_000_000 {
      end.tv_sec += 1
      end.tv_nsec -= 1_000_000_000
    }
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = body() { return result }
      if pthread_cond_timedwait(condition, mutex, &end) == ETIMEDOUT { return body() }
    }
  }
}
