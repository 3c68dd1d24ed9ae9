import RuledThreads

/// The lock on the end of the log, and the state that it guards.
///
/// `docs/architecture.md` has the table of all locks that a commit takes, in their order.
final class LogTail: @unchecked Sendable {  // `lock` guards `state`
  private let lock = Condition()
  private let path: String
  /// The state of the log; under the lock.
  var state = StoreState.open

  init(of path: String) { self.path = path }

  func locked<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result { try lock.locked(body) }

  func signal(_ body: () -> Void) { lock.signal(body) }

  func wait<Result>(for body: () -> Result?) -> Result { lock.wait(for: body) }

  /// Waits until `body`, which runs under the lock, gives something; nil when it has not within so many milliseconds.
  func wait<Result>(milliseconds: Int, for body: () -> Result?) -> Result? {
    lock.wait(milliseconds: milliseconds, for: body)
  }

  func wakeAll() { lock.wakeAll() }

  /// Whether a segment is being sealed; under the lock.
  var isSealing: Bool { if case .sealing = state { true } else { false } }

  /// Whether the store has been closed; under the lock.
  var isClosed: Bool { if case .closed = state { true } else { false } }

  /// Throws why nothing is appended; under the lock.
  func check() throws(StoreError) {
    switch state {
    case .open, .sealing: return
    case .closed: throw .closed(path)
    case .failed(let failure), .suspended(let failure):
      throw .poisoned(
        by: failure, "the store at \(path) takes no commit until it is reopened, since an earlier one failed")
    }
  }
}
