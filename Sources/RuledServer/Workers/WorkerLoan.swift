import RuledEngine

/// A worker's offer to let another carry out a request about its subjects while it sleeps: to wake it, and be woken by it, takes longer than most
/// requests.
final class WorkerLoan: Sendable {
  /// What the worker's loop holds while the worker is awake.
  let gate = TurnGate()
  private nonisolated(unsafe) var worker: Worker?  // guarded by `gate`

  /// Offers the worker from its loop's next wait on.
  func offer(_ worker: Worker) { gate.locked { self.worker = worker } }

  /// Takes the offer back.
  func withdraw() { gate.locked { worker = nil } }

  /// Hands the worker to `body` if it sleeps and has nothing to do; says whether that was so.
  func use(_ body: (Worker) -> Void) -> Bool {
    gate.tryLocked {
      guard let worker, worker.isForLoan else { return false }
      body(worker)
      return true
    } ?? false
  }
}

extension Worker {
  /// Whether nothing is under way and nothing waits that would have to come first.
  var isForLoan: Bool { isIdle && services.workers[index].isEmpty }

  /// Carries out a request about another worker's subject in its place, if that one sleeps; says whether that was so.
  func carryOut(_ bundle: RequestBundle, inPlaceOf owner: Int) -> Bool {
    var isDone = false
    let answers = services.workers[index].attended {
      isDone = services.loans[owner].use { owner in
        owner.evaluator.runOnThread(of: evaluator) {
          owner.carryOut(bundle)
          owner.flush()
          if owner.inbox.hasWork { _ = services.workers[owner.index].send(.perform { _ in }) }
        }
      }
    }
    for message in answers { take(message) }
    return isDone
  }
}
