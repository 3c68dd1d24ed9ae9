import RuledCore
import RuledThreads

/// Brings the sealed segments of the log into the database, in the background.
struct SegmentFlusher {
  let log: RedoLog
  let access: DatabaseAccess
  let ingestion: SegmentIngestion
  let expiry: ExpiryFilter
  let journal: (any SegmentConsumer)?
  /// Held while a segment moves from the log into the database.
  private let moving = Condition()

  private static let backoff = Backoff(first: 250, longest: 10_000)

  /// Starts the flush thread, which runs until the log is closed, after commits and rules.
  func start() throws(StoreError) -> Thread {
    do throws(ThreadError) { return try Thread(name: "ruled-flush", priority: .background) { run() } } catch {
      throw StoreError.system(
        "the store's thread can't be started; raise TasksMax= of the unit, or ulimit -u", error.number)
    }
  }

  /// Flushes until the log is closed; retries after failures.
  private func run() {
    var failures = 0
    while !log.isClosed {
      do throws(StoreError) {
        if try work(within: 10_000) { failures = 0 }
      } catch {
        failures += 1
        log.pause(milliseconds: Int(Self.backoff.delay(after: failures)))
      }
    }
  }

  /// Waits for something to do, at most so many milliseconds, and does it; true when it flushed a segment.
  @discardableResult
  func work(within milliseconds: Int) throws(StoreError) -> Bool {
    try? log.prepareNext()
    switch log.segments.nextWork(within: milliseconds) {
    case .flush(let segment):
      do throws(StoreError) {
        try flush(segment)
        try removeExpired()
      } catch {
        log.segments.noteFailedFlush(error)
        throw error
      }
      return true
    case .writeZeros: log.writeZeros()
    case nil: log.trim()
    }
    return false
  }

  private func flush(_ segment: Segment) throws(StoreError) {
    journal?.consume(LoggedCommits(segment, end: segment.end))
    try moving.locked { () throws(StoreError) in
      if try access.reading({ (database) throws(StoreError) in database.needsReopening }) { try access.reopen() }
      try access.reading { (database) throws(StoreError) in
        try ingestion.ingest(segment, into: database)
        try log.remove(segment)
      }
    }
  }

  /// Runs `body` while no segment moves from the log into the database, so that each commit is in one of them.
  func paused<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try moving.locked { () throws(StoreError) in try body() }
  }

  /// Removes whole files of expired outcomes.
  private func removeExpired() throws(StoreError) {
    let cutoff = expiry.cutoff.load(ordering: .relaxed)
    guard cutoff > expiry.removed.load(ordering: .relaxed) else { return }
    try access.reading { (database) throws(StoreError) in
      try database.deleteFiles(from: StoreKey.prefix(.outcome), to: StoreKey.outcomes(expiringAt: cutoff))
    }
    expiry.removed.store(cutoff, ordering: .relaxed)
  }
}
