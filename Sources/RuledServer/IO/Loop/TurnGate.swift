internal import Glibc

/// A lock that a loop holds during each of its turns and not while it waits: who enters meanwhile may use what is the loop's thread's otherwise.
///
/// Only what is not libuv's: the loop looks after its handles outside of turns, too.
package final class TurnGate: @unchecked Sendable {  // the lock guards itself, and its memory never moves
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  /// A gate that nobody has entered.
  package init() { pthread_mutex_init(mutex, nil) }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Waits until nobody is in, and enters.
  func enter() { pthread_mutex_lock(mutex) }

  /// Lets others in.
  func leave() { pthread_mutex_unlock(mutex) }

  /// Runs `body` inside unless somebody is there.
  package func tryLocked<Result>(_ body: () -> Result) -> Result? {
    guard pthread_mutex_trylock(mutex) == 0 else { return nil }
    defer { leave() }
    return body()
  }

  /// Runs `body` inside once nobody is there.
  package func locked<Result>(_ body: () -> Result) -> Result {
    enter()
    defer { leave() }
    return body()
  }
}
