import RuledIO

/// A worker that sleeps and whose part another worker's thread takes for a moment: waking a thread takes longer than most requests.
///
/// It exists only while `BorrowableWorker.borrow` runs, and gives access only to parts that are safe without the worker's own event loop.
struct BorrowedWorker: ~Copyable {
  private let worker: Worker

  fileprivate init(_ worker: Worker) { self.worker = worker }

  /// Executes requests about the worker's subjects on the thread of `borrower`.
  func serve(_ bundle: TextBundle, for borrower: Worker) {
    worker.evaluator.runOnThread(of: borrower.evaluator) { worker.executeRequests(in: bundle) }
    worker.turnEnd = 0
  }

  /// Commits the writes of the requests and sends the replies; wakes the worker if that leaves it something to do.
  func commit() {
    worker.commitTick()
    if worker.inbox.hasWork { worker.services.workers[worker.index].send(.wake {}) }
  }
}

/// Lets other workers borrow a worker while it sleeps.
final class BorrowableWorker: Sendable {
  /// The lock that the worker's loop holds during its ticks.
  let lock = TickLock()
  private nonisolated(unsafe) var worker: Worker?  // guarded by `lock`

  /// Allows borrowing, from the loop's next wait on.
  func allow(_ worker: Worker) { lock.withLock { self.worker = worker } }

  func forbid() { lock.withLock { worker = nil } }

  /// Passes the worker to `body` if it sleeps and nothing waits for it; false otherwise.
  func borrow(_ body: (borrowing BorrowedWorker) -> Void) -> Bool {
    lock.withLockIfAvailable {
      guard let worker, worker.canBeBorrowed else { return false }
      body(BorrowedWorker(worker))
      return true
    } ?? false
  }
}

extension Worker {
  /// Whether nothing is under way and nothing waits that would have to come first.
  var canBeBorrowed: Bool { isIdle && services.workers[index].isEmpty }

  /// Executes requests in the place of the worker that owns their subjects, if that one sleeps; otherwise sends them to it.
  func executeOrSend(_ bundle: TextBundle, to owner: Int) {
    let messages = services.workers[index].collect {
      let isDone = borrowable[owner].borrow { owner in
        owner.serve(bundle, for: self)
        owner.commit()
      }
      if !isDone { services.workers[owner].send(.requests(bundle)) }
    }
    for message in messages { handle(message) }
  }
}
