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

  /// Until the log is closed, brings sealed segments into the database and removes expired outcomes; repeats what fails.
  func run() {
    var expired = Int64.min
    var pause = Self.pauses.first
    while !log.isEnding {
      try? log.prepare()
      do throws(StoreError) {
        switch log.nextWork(within: 10_000) {
        case .drain(let segment): try drain(segment)
        case .writeAhead:
          log.writeAhead()
          continue
        case nil:
          log.releaseMemory()
          continue
        }
        try removeExpired(&expired)
        pause = Self.pauses.first
      } catch {
        log.drainFailed(error)
        log.pause(milliseconds: pause)
        pause = min(pause * 2, Self.pauses.most)
      }
    }
  }

  private func drain(_ segment: Segment) throws(StoreError) {
    if try access.reading({ (database) throws(StoreError) in database.needsReopening }) { try access.reopen() }
    try access.reading { (database) throws(StoreError) in
      try ingestion.bring(segment, into: database)
      try log.drained(segment)
    }
  }

  private func removeExpired(_ expired: inout Int64) throws(StoreError) {
    let cutoff = options.expiry.cutoff.load(ordering: .relaxed)
    guard cutoff > expired else { return }
    try access.reading { (database) throws(StoreError) in
      try database.deleteFiles(from: StoreKey.prefix(.outcome), to: StoreKey.outcomes(expiringAt: cutoff))
    }
    expired = cutoff
  }
}
