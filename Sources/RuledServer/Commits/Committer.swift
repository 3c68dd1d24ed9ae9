import CLinux
import Glibc
import RuledCore
import RuledEngine
import RuledStore

/// The thread that syncs what workers appended and left to it, syncs once a second when that is not part of each commit, and opens the store anew
/// after a failure.
final class Committer {
  private let services: Services

  init(services: Services) { self.services = services }

  /// Serves until `GroupCommit.stop` is called and nothing is left.
  func run() {
    cl_wake_soon()
    var nextTick = Self.milliseconds + Self.interval
    while true {
      let work = services.commits.awaitWork(milliseconds: max(0, nextTick - Self.milliseconds))
      if let work, work.replies != nil {
        services.commits.gather(microseconds: Self.gathering) { services.inFlight.load(ordering: .relaxed) }
        services.report(services.commits.settle())
      }
      if work?.isReopeningDue == true { reopen() }
      if Self.milliseconds >= nextTick {
        tick()
        nextTick = Self.milliseconds + Self.interval
      }
      if let work, work.isStopping, work.replies == nil { return }
    }
  }

  /// How long, in microseconds, units wait for those of the other workers when much is being evaluated.
  ///
  /// A sync costs the same whatever it makes durable.
  private static let gathering = getenv("GATHER").map { atol($0) } ?? 500
  /// How many replies at least must wait for the committer to think that there is much.
  private static let manyReplies = 48
  /// How many milliseconds lie between two ticks.
  private static let interval = Int(Limits.syncInterval / 1000)

  private static var milliseconds: Int {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1000 + now.tv_nsec / 1_000_000
  }

  /// Whether other workers' units can be expected soon: a good part of what is in flight is still being evaluated.
  private func isWorthGathering(_ work: GroupCommit.Work) -> Bool {
    guard let waiting = work.replies, work.isOfOneWorker, services.workers.count > 1 else { return false }
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
    if !services.commits.isDurable { services.report(services.commits.settle()) }
  }
}

extension Services {
  /// Tells whoever has to know that the store failed.
  func report(_ error: StoreError?) {
    guard let error else { return }
    status.store(error.description)
    notifyStatus()
    context.log.write(LogLine(.error, "the store refused a commit, nothing of it was applied: \(error)"))
  }
}
