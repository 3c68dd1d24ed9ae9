import Glibc

/// Lets many readers in together or one writer alone.
final class ReadWriteLock: @unchecked Sendable {  // the lock guards itself, and its memory never moves
  private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

  init() {
    let result = pthread_rwlock_init(lock, nil)
    precondition(result == 0, "pthread_rwlock_init: \(result)")
  }

  deinit {
    pthread_rwlock_destroy(lock)
    lock.deallocate()
  }

  /// Runs `body` while no writer is in; a reader may read again within it.
  func reading<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let result = pthread_rwlock_rdlock(lock)
    precondition(result == 0, "pthread_rwlock_rdlock: \(result)")
    defer { pthread_rwlock_unlock(lock) }
    return try body()
  }

  func writing<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let result = pthread_rwlock_wrlock(lock)
    precondition(result == 0, "pthread_rwlock_wrlock: \(result)")
    defer { pthread_rwlock_unlock(lock) }
    return try body()
  }
}
