import Glibc
import Synchronization

/// A value that one thread sets and another waits for, with a generous deadline.
final class Signal<Value: Sendable>: Sendable {
  private let value: Mutex<Value?> = Mutex(nil)

  func set(_ new: Value) { value.withLock { $0 = new } }

  func wait() -> Value {
    for _ in 0..<30_000 {
      if let value = value.withLock({ $0 }) { return value }
      usleep(1000)
    }
    fatalError("no signal within 30 s")
  }
}

/// Polls until `condition` holds, for 30 s at most.
func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
  for _ in 0..<15_000 {
    if try condition() { return true }
    usleep(2000)
  }
  return false
}
