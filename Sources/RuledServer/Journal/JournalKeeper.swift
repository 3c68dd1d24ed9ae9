import RuledCore
import RuledEngine
import RuledJournal
import RuledStore
import RuledThreads

/// The background thread that maintains the journal: it takes snapshots, removes old files, and erases forgotten subjects.
final class JournalKeeper: Sendable {
  private let service: JournalService
  private let log: any EventLog
  private let now: @Sendable () -> Timestamp
  private let condition = Condition()
  private nonisolated(unsafe) var isEnding = false  // guarded by `condition`, as the next
  private nonisolated(unsafe) var isRunning = false

  /// How long the daemon's end waits for the thread's end, in milliseconds.
  private static let longestEnd = 2_000

  /// How often it checks what is to be done, in milliseconds.
  private static let period = 60_000
  /// How often a journal that could not be written is tried again, in milliseconds.
  private static let retrying = 2_000
  /// How often forgotten subjects are erased, in periods: twice a day, and ten minutes after a start.
  private static let erasing = 720
  private static let firstErasing = 10
  /// The longest time until commits are flushed to the files, in periods.
  private static let flushing = 180

  /// A keeper of the daemon's journal; `now` is the time that its entries have.
  init(_ service: JournalService, log: any EventLog, now: @escaping @Sendable () -> Timestamp) {
    self.service = service
    self.log = log
    self.now = now
  }

  /// Takes the first snapshot, unless the next entries can be replayed from an earlier one, and starts the thread.
  func start() throws(SystemError) {
    do throws(StoreError) { try service.takeFirstSnapshot(now: now()) } catch { note(error) }
    condition.locked { isRunning = true }
    _ = try Thread.start(name: "ruled-keeper", priority: .background) { self.run() }
  }

  /// Ends the thread, and waits a while for what it is doing; what it does not finish is done again after the next start.
  func end() {
    condition.signal { isEnding = true }
    let _: Void? = condition.wait(milliseconds: Self.longestEnd) { isRunning ? nil : () }
  }

  private var shouldContinue: Bool { condition.locked { !isEnding } }

  private func run() {
    var periods = 0
    while shouldContinue {
      work(periods)
      periods += 1
      pause()
    }
    condition.signal { isRunning = false }
  }

  /// Waits for the next period; a journal that could not be written is tried again meanwhile: perhaps its disk has space again, and nothing is flushed.
  private func pause() {
    for _ in 0..<Self.period / Self.retrying where shouldContinue {
      let _: Void? = condition.wait(milliseconds: Self.retrying) { isEnding ? () : nil }
      if service.journal.failure != nil { service.journal.retry() }
    }
  }

  private func work(_ periods: Int) {
    let journal = service.journal
    let now = now()
    do throws(StoreError) {
      if periods % Self.flushing == Self.flushing - 1 { try service.store.flushAll() }
      if journal.needsSnapshot(now: now) { try journal.takeSnapshot(of: service.store, now: now) }
      try journal.retain(now: now)
      if periods % Self.erasing == Self.firstErasing {
        try service.store.flushAll()
        try journal.erase { shouldContinue }
      }
      service.keeperError = nil
    } catch { note(error) }
  }

  private func note(_ error: StoreError) {
    if service.keeperError != error.description, shouldContinue {
      log.write(LogLine(.error, "the journal can't be kept in order, that is tried again: \(error)"))
    }
    service.keeperError = error.description
  }
}
