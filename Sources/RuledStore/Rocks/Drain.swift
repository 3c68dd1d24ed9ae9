/// Brings the sealed segments of the log into the database, in the background.
struct Drain {
  private let log: RedoLog
  private let access: DatabaseAccess
  private let ingestion: SegmentIngestion
  private let options: RocksOptions

  /// A drain of `log` into the database of `access`.
  init(of log: RedoLog, into access: DatabaseAccess, ingestion: SegmentIngestion, options: RocksOptions) {
    self.log = log
    self.access = access
    self.ingestion = ingestion
    self.options = options
  }

  /// How long it pauses after a failure, in milliseconds: at first, and at most after failures in a row.
  private static let pauses = (first: 250, most: 10_000)

  /// Until the log is closed, does what there is to do; repeats what fails.
  func run() {
    var pause = Self.pauses.first
    while !log.isEnding {
      do throws(StoreError) {
        if try work(within: 10_000) { pause = Self.pauses.first }
      } catch {
        log.pause(milliseconds: pause)
        pause = min(pause * 2, Self.pauses.most)
      }
    }
  }

  /// Waits for something to do, at most so many milliseconds, and does it: brings a sealed segment into the database and removes expired outcomes, or
  /// makes the next segment ready; says whether anything was drained.
  @discardableResult
  func work(within milliseconds: Int) throws(StoreError) -> Bool {
    try? log.prepare()
    switch log.nextWork(within: milliseconds) {
    case .drain(let segment):
      do throws(StoreError) {
        try drain(segment)
        try removeExpired()
      } catch {
        log.drainFailed(error)
        throw error
      }
      return true
    case .writeAhead: log.writeAhead()
    case nil: log.releaseMemory()
    }
    return false
  }

  private func drain(_ segment: Segment) throws(StoreError) {
    if try access.reading({ (database) throws(StoreError) in database.needsReopening }) { try access.reopen() }
    try access.reading { (database) throws(StoreError) in
      try ingestion.bring(segment, into: database)
      try log.drained(segment)
    }
  }

  private func removeExpired() throws(StoreError) {
    let cutoff = options.expiry.cutoff.load(ordering: .relaxed)
    guard cutoff > options.expiry.removed.load(ordering: .relaxed) else { return }
    try access.reading { (database) throws(StoreError) in
      try database.deleteFiles(from: StoreKey.prefix(.outcome), to: StoreKey.outcomes(expiringAt: cutoff))
    }
    options.expiry.removed.store(cutoff, ordering: .relaxed)
  }
}
