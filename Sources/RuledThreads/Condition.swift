import CLinux
import Glibc

/// A lock with a condition variable: its holder can wait for another thread's changes under the lock.
package final class Condition: @unchecked Sendable {  // the lock guards itself, and its memory never moves
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

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

  package func locked<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Runs `body` under the lock, then wakes all waiting threads, so that they try again.
  package func signal(_ body: () -> Void) {
    locked(body)
    wakeAll()
  }

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

  /// Calls `body` under the lock, again after each wake, until it returns something or so many microseconds have passed; then nil, also if
  /// another thread has held the lock all the time.
  package func wait<Result>(microseconds: Int, for body: () -> Result?) -> Result? {
    var end = timespec()
    clock_gettime(CLOCK_MONOTONIC, &end)
    end.tv_sec += microseconds / 1_000_000
    end.tv_nsec += microseconds % 1_000_000 * 1000
    if end.tv_nsec >= 1_000_000_000 {
      end.tv_sec += 1
      end.tv_nsec -= 1_000_000_000
    }
    guard cl_lock_until(mutex, &end) else { return nil }
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = body() { return result }
      if pthread_cond_timedwait(condition, mutex, &end) == ETIMEDOUT { return body() }
    }
  }
}
