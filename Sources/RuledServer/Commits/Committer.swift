import CLinux
import Glibc
import RuledCore
import RuledEngine
import RuledStore

/// The thread that syncs what workers appended and left to it, syncs once a second when that is not part of each commit, and opens the store anew
/// after a failure.
final class Committer {
  /// How many milliseconds lie between two writes of the time.
  private static let keepingInterval = 600_000

  private let services: Services
  private var nextKeeping = Committer.milliseconds + Committer.keepingInterval

  init(services: Services) { self.services = services }

  /// Serves until `GroupCommit.stop` is called and nothing is left.
  func run() {
    cl_set_slice(Self.slice)
    var nextTick = Self.milliseconds + Self.interval
    while true {
      let work = services.commits.awaitWork(
        milliseconds: max(0, nextTick - Self.milliseconds), gathering: Self.gathering
      ) { services.inFlight.load(ordering: .relaxed) }
      if work?.hasBatches == true { services.report(services.commits.settle()) }
      if work?.isReopeningDue == true { reopen() }
      if Self.milliseconds >= nextTick {
        tick()
        nextTick = Self.milliseconds + Self.interval
      }
      if let work, work.isStopping, !work.hasBatches { return }
    }
  }

  /// How long, in microseconds, batches wait at most until a sync would settle most of what is in flight.
  ///
  /// A sync costs about the same whatever it makes durable.
  private static let gathering = 2_000
  /// How many microseconds it takes at a time: it runs briefly and often, and all wait for it.
  private static let slice: UInt32 = 100
  /// How many milliseconds lie between two ticks.
  private static let interval = Int(Limits.syncInterval / 1000)

  private static var milliseconds: Int {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1000 + now.tv_nsec / 1_000_000
  }

  private func reopen() {
    do throws(StoreError) {
      let isReopened = try services.commits.reopen()
      // A worker may report its failure after the store is open again: then nothing would take the report back.
      guard isReopened || !services.status.storeIsWell else { return }
      services.status.store(nil)
      services.notifyStatus()
      services.context.log.write(LogLine(.info, "the store is open again"))
      _ = services.control.send(.storeReopened)
    } catch {
      services.status.store(error.description)
    }
  }

  /// Tells when something begins to go wrong behind the commits, and when it is well again.
  private func reportBackground() {
    let problem = services.context.store.problem
    let told = services.status.background
    guard (problem == nil) != (told == nil) else { return }
    services.status.background = problem?.description
    services.notifyStatus()
    let line =
      problem.map { LogLine(.error, "commits go on, but something is wrong behind them: \($0)") }
      ?? LogLine(.info, "the log is brought into the database again")
    services.context.log.write(line)
  }

  /// Keeps the time now and then: after a restart of the machine the steady time goes on from the last one that was kept.
  private func keepTime() {
    let now = Self.milliseconds
    guard services.status.storeIsWell, now >= nextKeeping || StoredTime.needsSaving(services.context) else { return }
    nextKeeping = now + Self.keepingInterval
    do throws(StoreError) { try StoredTime.save(services.context, durable: false) } catch {
      services.context.log.write(LogLine(.error, "the time could not be kept in the store: \(error)"))
    }
  }

  private func tick() {
    reopen()
    reportBackground()
    services.context.store.expire(before: services.context.clock.steady)
    keepTime()
    if !services.commits.isDurable { services.report(services.commits.settle()) }
  }
}

extension Services {
  /// Tells whoever has to know that the store failed.
  func report(_ error: StoreError?) {
    guard let error else { return }
    status.store(error.description)
    notifyStatus()
    let fate =
      error.isOutcomeUnknown ? "it is not known whether it will be found after a restart" : "nothing of it was applied"
    context.log.write(LogLine(.error, "the store refused a commit, \(fate): \(error)"))
  }
}
