package import RuledCore
import RuledEngine
package import RuledIO
import RuledStore
import RuledThreads

/// The background thread that maintains the journal: it takes snapshots, removes old files, and erases forgotten subjects.
package final class JournalKeeper: Sendable {
  private let service: JournalService
  private let log: any EventLog
  private let now: @Sendable () -> Timestamp
  private let condition = Condition()
  private nonisolated(unsafe) var isEnding = false  // guarded by `condition`, as the next two
  private nonisolated(unsafe) var isRunning = false
  /// Whether a file was completed since files were removed last.
  private nonisolated(unsafe) var hasNewFile = false
  /// The damages that were logged; belongs to the thread once it runs.
  private nonisolated(unsafe) var loggedDamages: [String] = []

  /// How long the daemon's end waits for the thread's end, in milliseconds.
  private static let longestEnd = 2_000

  /// The time between two checks for work, in milliseconds.
  private static let period = 60_000
  /// How often a journal that could not be written is tried again, in milliseconds.
  private static let retrying = 2_000
  /// How often forgotten subjects are erased, in periods: twice a day, and ten minutes after a start.
  ///
  /// A task that fails is tried again in the next period.
  private static let erasing = 720
  private static let firstErasing = 10
  /// The longest time until commits are flushed to the files, in periods.
  private static let flushing = 180

  /// A keeper of the daemon's journal; `now` is the time that its entries have.
  package init(_ service: JournalService, log: any EventLog, now: @escaping @Sendable () -> Timestamp) {
    self.service = service
    self.log = log
    self.now = now
  }

  /// Takes the first snapshot, unless the next entries can be replayed from an earlier one, and starts the thread.
  package func start() throws(SystemError) {
    do throws(StoreError) { try service.takeFirstSnapshot(now: now()) } catch { note(error) }
    logDamages()
    condition.locked { isRunning = true }
    service.journal.notify { [weak self] in self?.condition.signal { self?.hasNewFile = true } }
    _ = try Thread.start(name: "ruled-keeper", priority: .background) { self.run() }
  }

  /// Ends the thread, and waits a while for its task; an unfinished task is done again after the next start.
  package func end() {
    condition.signal { isEnding = true }
    let _: Void? = condition.wait(milliseconds: Self.longestEnd) { isRunning ? nil : () }
  }

  private var shouldContinue: Bool { condition.locked { !isEnding } }

  private func run() {
    var periods = 0
    var mustErase = false
    while shouldContinue {
      mustErase = mustErase || periods % Self.erasing == Self.firstErasing
      let isDone = attempt { () throws(StoreError) in
        if periods % Self.flushing == Self.flushing - 1 { try service.store.flushAll() }
        try keepInBounds()
        if mustErase { try service.journal.erase(from: service.store) { shouldContinue } }
      }
      if isDone { mustErase = false }
      periods += 1
      pause()
    }
    condition.signal { isRunning = false }
  }

  /// Waits for the next period.
  ///
  /// Meanwhile files are removed as others are completed, and a journal that could not be written is tried again: perhaps its disk has space
  /// again, and nothing is flushed.
  private func pause() {
    let end = EngineClock.monotonic + UInt64(Self.period) * 1_000_000
    while shouldContinue, EngineClock.monotonic < end {
      let _: Void? = condition.wait(milliseconds: Self.retrying) { isEnding || hasNewFile ? () : nil }
      logDamages()
      if service.journal.failure != nil { service.journal.retry() }
      if condition.locked({ hasNewFile }) { attempt(keepInBounds) }
    }
  }

  /// Takes a snapshot if one is due, and then removes files beyond the journal's bounds, also if there is no room for a snapshot.
  private func keepInBounds() throws(StoreError) {
    condition.locked { hasNewFile = false }
    let now = now()
    var problem: StoreError?
    if service.journal.needsSnapshot(now: now) {
      do throws(StoreError) { try service.journal.takeSnapshot(of: service.store, now: now) } catch { problem = error }
    }
    try service.journal.retain(now: now)
    if let problem { throw problem }
  }

  /// Runs `body`, and notes whether the journal is in order; returns whether it is.
  @discardableResult
  private func attempt(_ body: () throws(StoreError) -> Void) -> Bool {
    do throws(StoreError) {
      try body()
      service.keeperError.value = nil
      return true
    } catch {
      note(error)
      return false
    }
  }

  /// Logs the damages that were found since the last call.
  private func logDamages() {
    let damages = service.damages
    for damage in damages where !loggedDamages.contains(damage) { log.error(damage) }
    loggedDamages = damages
  }

  private func note(_ error: StoreError) {
    if service.keeperError.value != error.description, shouldContinue {
      log.error("the journal can't be kept in order, that is tried again: \(error)")
    }
    service.keeperError.value = error.description
  }
}
