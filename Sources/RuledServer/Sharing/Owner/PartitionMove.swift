import RuledCore
import RuledEngine
import RuledWire

/// One move of partitions between the owner's workers and another node: the steps that are left of it.
///
/// Confined to the thread that lends.
///
/// Whatever the direction, the destination holds requests first, then the table changes, then the workers send what they have routed by the
/// old table, then the former place finishes, then the destination begins. So requests about a subject keep their order.
final class PartitionMove {
  /// Which way the partitions go.
  enum Direction {
    /// From the workers to the node.
    case lend
    /// From the node to the workers.
    case takeBack
    /// From a node that is lost to the workers.
    case recover([ForwardedRequest])
  }

  /// What comes next.
  private enum Step {
    case holding, routing, givingUp, releasing, settling, opening, done
  }

  let direction: Direction
  let evaluator: RemoteEvaluator
  let partitions: PartitionSet
  let number: UInt64
  private let services: Services
  private let shares: Shares
  private let lending: Lending
  private var step = Step.holding

  /// A move that has begun.
  init(
    _ direction: Direction, _ partitions: PartitionSet, _ evaluator: RemoteEvaluator, number: UInt64,
    _ services: Services, _ shares: Shares, _ lending: Lending
  ) {
    self.direction = direction
    self.partitions = partitions
    self.evaluator = evaluator
    self.number = number
    self.services = services
    self.shares = shares
    self.lending = lending
    if case .lend = direction {
      evaluator.expect(partitions)
      onAllWorkers { worker, done in
        worker.keep(partitions)
        done()
      }
    } else {
      onAllWorkers { worker, done in
        worker.hold(partitions)
        done()
      }
    }
  }

  /// Whether the partitions have arrived.
  var isDone: Bool { if case .done = step { true } else { false } }

  /// Whether the node has to answer.
  private var isReleasing: Bool { if case .releasing = step { true } else { false } }

  /// Goes on after all workers have done what they were asked for.
  func workersDone() {
    switch step {
    case .holding:
      if case .lend = direction {
        shares.assign(partitions, to: evaluator.slot)
      } else {
        shares.assign(partitions, to: nil)
      }
      route()
    case .routing:
      switch direction {
      case .lend:
        step = .givingUp
        let partitions = partitions
        onAllWorkers { worker, done in worker.giveUp(partitions, done) }
      case .takeBack:
        // What workers have sent by the old table goes to the node before the release.
        for message in shares.receivers[evaluator.slot].collect(during: {}) { evaluator.receive(message) }
        step = .releasing
        evaluator.release(partitions, move: number)
      case .recover:
        for message in shares.receivers[evaluator.slot].collect(during: {}) { evaluator.receive(message) }
        step = .settling
      }
    case .givingUp:
      step = .done
      if evaluator.loss == nil { evaluator.grant(partitions, sequence: services.reserveNumbers()) }
    case .opening:
      step = .done
      evaluator.remove(partitions)
      _ = services.control.send(.partitionsOpened)
    case .releasing, .settling, .done: break
    }
  }

  /// Goes on after the node has finished what it had.
  func released(_ move: UInt64, sequence: UInt64) {
    guard move == number, isReleasing else { return }
    services.context.advanceSequence(to: sequence)
    open(first: [])
  }

  /// Goes on after time has passed; returns false if the node was lost in the middle of a release, so that another move has to recover its partitions.
  func check(now: UInt64) -> Bool {
    if isReleasing, evaluator.loss != nil { return false }
    if case .settling = step, case .recover(let requests) = direction, evaluator.isSettled, now >= evaluator.validUntil
    {
      // What was routed by the old table came before what the workers hold.
      open(first: requests + evaluator.takeWaiting())
    }
    return true
  }

  private func route() {
    step = .routing
    onAllWorkers { worker, done in worker.finishRouting(done) }
  }

  private func open(first requests: [ForwardedRequest]) {
    step = .opening
    let partitions = partitions
    var shares = services.workers.map { _ in [ForwardedRequest]() }
    for request in requests {
      shares[services.worker(forHash: request.subject)].append(request)
    }
    onAllWorkers { [shares] worker, done in
      worker.open(partitions, first: shares[worker.index])
      done()
    }
  }

  /// Has all workers do something, each of which calls `done`; then `workersDone` is due.
  private func onAllWorkers(
    _ body: @escaping @Sendable (Worker, _ done: @escaping @Sendable () -> Void) -> Void
  ) {
    let commands = lending.commands
    services.onEachWorker(body) { _ = commands.send(.stepDone) }
  }
}

extension Services {
  /// How many numbers for messages, effects and parked events a node gets at a time.
  private static var numbers: UInt64 { 1 << 28 }

  /// Reserves numbers for another node, which begin above the result.
  func reserveNumbers() -> UInt64 {
    let first = context.nextSequence()
    context.advanceSequence(to: first + Self.numbers)
    return first
  }
}
