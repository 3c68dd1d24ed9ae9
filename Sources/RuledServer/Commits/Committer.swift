import CLinux
import Glibc
import RuledCore
import RuledEngine
import RuledStore

/// The thread that commits what workers leave to it because another is committing, syncs when that is not part of each commit, and opens the store anew
/// after a failure.
final class Committer {
  private let services: Services
  private let loop: EventLoop
  private var timer: LoopTimer?

  init(services: Services) throws(SystemError) {
    self.services = services
    loop = try EventLoop()
  }

  /// Commits until the loop is stopped.
  func run() throws(SystemError) {
    try services.committer.attach(to: loop) { [unowned self] in take($0) }
    timer = try LoopTimer(on: loop) { [unowned self] in tick() }
    cl_wake_soon()
    timer?.start(after: 1000, every: UInt64(Limits.syncInterval / 1000))
    loop.run()
    timer?.close()
    services.committer.close()
    loop.close()
  }

  /// How long, in microseconds, units wait for those of the other workers when each commit is synced and much is being evaluated.
  ///
  /// A sync costs the same whatever it makes durable.
  private static let gathering: UInt32 = 300
  /// How many replies at least must wait for the committer to think that there is much.
  private static let manyReplies = 48

  private func take(_ arrived: [CommitterMessage]) {
    var messages = arrived
    if isWorthGathering(messages) {
      usleep(Self.gathering)
      messages += services.committer.takeQueued()
    }
    var submissions: [Submission] = []
    var isStopping = false
    for message in messages {
      switch message {
      case .commit(let submission): submissions.append(submission)
      case .reopen: break
      case .stop: isStopping = true
      }
    }
    if !submissions.isEmpty {
      let isDurable = services.conclude(services.commits.commit(submissions.map(\.unit)))
      for submission in submissions {
        _ = services.workers[submission.worker].send(.finished(submission.unit, durable: isDurable))
      }
    }
    if isStopping { loop.stop() } else { reopen() }
  }

  /// Whether other workers' units can be expected soon: a good part of what is in flight is still being evaluated.
  private func isWorthGathering(_ messages: [CommitterMessage]) -> Bool {
    guard services.context.configuration.durability == .commit, messages.count < services.workers.count else {
      return false
    }
    let waiting = messages.reduce(0) { count, message in
      if case .commit(let submission) = message { return count + submission.unit.replies.count }
      return count
    }
    return waiting >= Self.manyReplies && services.inFlight.load(ordering: .relaxed) > waiting * 3 / 2
  }

  private func reopen() {
    do throws(StoreError) {
      guard try services.commits.reopen() else { return }
      services.status.store(nil)
      services.notifyStatus()
      services.context.log.write(LogLine(.info, "the store is open again"))
      _ = services.control.send(.storeReopened)
    } catch {
      services.status.store(error.description)
    }
  }

  private func tick() {
    reopen()
    services.context.store.expire(before: services.context.clock.now.microseconds)
    _ = services.conclude(services.commits.sync())
  }
}

extension Services {
  /// Says whether a commit succeeded; when it failed, tells whoever has to know.
  func conclude(_ outcome: GroupCommit.Outcome) -> Bool {
    switch outcome {
    case .committed: return true
    case .refused: return false
    case .failed(let error):
      status.store(error.description)
      notifyStatus()
      context.log.write(LogLine(.error, "the store refused a commit, nothing of it was applied: \(error)"))
      _ = committer.send(.reopen)
      return false
    }
  }
}
