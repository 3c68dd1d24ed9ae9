import CLinux
import RuledCore
import RuledEngine
import RuledStore

/// The committer thread: makes the submissions durable that workers leave to it, syncs once a second when commits don't wait for syncs, and opens the store
/// again after a failure.
final class Committer {
  /// The longest wait, in microseconds, until a sync would make most requests in flight durable.
  ///
  /// A sync costs about the same for any number of submissions.
  private static let gathering = 2_000
  /// The thread's time slice in microseconds: it runs briefly and often, and all wait for it.
  private static let slice: UInt32 = 100
  /// The milliseconds between two ticks.
  private static let interval = Int(Limits.syncInterval / 1000)
  /// The milliseconds between two writes of the time.
  private static let timeInterval = 600_000
  /// The milliseconds between two searches for boards whose time is over.
  private static let boardsInterval = 60_000

  private let services: Services
  private let commits: CommitPipeline
  private var nextTick = MonotonicClock.milliseconds + Committer.interval
  private var nextTime = MonotonicClock.milliseconds + Committer.timeInterval
  private var nextBoards = MonotonicClock.milliseconds + Committer.boardsInterval
  /// Whether opening the failed store again was tried, and failed, since the last tick.
  private var hasTriedReopening = false

  init(services: Services, commits: CommitPipeline) {
    self.services = services
    self.commits = commits
  }

  /// Runs until `CommitPipeline.stop` is called and nothing is left to it.
  func run() {
    cl_set_slice(Self.slice)
    while true {
      let work = commits.awaitWork(
        milliseconds: max(0, nextTick - MonotonicClock.milliseconds), gathering: Self.gathering,
        reopens: !hasTriedReopening
      ) { services.inFlight.load(ordering: .relaxed) }
      if work?.hasSubmissions == true { services.report(commits.syncAndSettle()) }
      if work?.hasFailed == true { reopen() }
      if MonotonicClock.milliseconds >= nextTick {
        tick()
        nextTick = MonotonicClock.milliseconds + Self.interval
      }
      if let work, work.isStopping, !work.hasSubmissions { return }
    }
  }

  private func tick() {
    hasTriedReopening = false
    reopen()
    reportBackground()
    services.context.store.expire(before: services.context.clock.steady)
    keepTime()
    removeBoards()
    if !commits.isDurable { services.report(commits.syncAndSettle()) }
  }

  /// Removes boards whose time is over, and their places some at a time.
  private func removeBoards() {
    let context = services.context, now = MonotonicClock.milliseconds
    guard services.status.storeIsWell else { return }
    let isDue = now >= nextBoards
    if isDue { nextBoards = now + Self.boardsInterval }
    do throws(StoreError) {
      try context.boards.sweep(context.store, at: context.clock.now.microseconds, looksForBoards: isDue)
    } catch { context.log.error("boards whose time is over could not be removed from the store: \(error)") }
  }

  private func reopen() {
    do throws(StoreError) {
      let isReopened = try commits.reopen()
      hasTriedReopening = false
      // A worker may report its failure after the store is open again: then the status says so until the next tick.
      guard isReopened || !services.status.storeIsWell else { return }
      services.status.store(nil)
      services.notifyStatus()
      services.log.write(LogLine(.info, "the store is open again"), limitedBy: "the store is open again")
      _ = services.control.send(.storeReopened)
    } catch {
      hasTriedReopening = true
      services.status.store(error.description)
    }
  }

  /// Reports when something begins to fail in the background of the store, and when it works again.
  private func reportBackground() {
    let problem = services.context.store.problem
    let reported = services.status.backgroundProblem
    guard (problem == nil) != (reported == nil) else { return }
    services.status.backgroundProblem = problem?.description
    services.notifyStatus()
    let line =
      problem.map { LogLine(.error, "commits go on, but something is wrong behind them: \($0)") }
      ?? LogLine(.info, "the log is brought into the database again")
    services.log.write(line)
  }

  /// Stores the time now and then: after a restart of the host the steady time continues from the last stored one.
  private func keepTime() {
    let now = MonotonicClock.milliseconds
    guard services.status.storeIsWell, now >= nextTime || StoredTime.needsSaving(services.context) else { return }
    nextTime = now + Self.timeInterval
    do throws(StoreError) { try StoredTime.save(services.context, durable: false) } catch {
      services.log.error("the time could not be kept in the store: \(error)")
    }
  }
}

extension Services {
  /// Shows and logs that the store failed, if there is an error.
  func report(_ error: StoreError?) {
    guard let error else { return }
    status.store(error.description)
    notifyStatus()
    let consequence =
      error.isOutcomeUnknown ? "it is not known whether it will be found after a restart" : "nothing of it was applied"
    context.log.write(
      LogLine(.error, "the store refused a commit, \(consequence): \(error)"),
      limitedBy: "\(error.code.rawValue) of a commit, \(consequence)")
  }
}
