import CLinux
import CRocksDB
import RuledCore
import RuledThreads

/// Brings the sealed segments of the log into the database, in the background.
struct SegmentFlusher {
  private let log: RedoLog
  private let access: DatabaseAccess
  private let ingestion: SegmentIngestion
  private let expiry: ExpiryFilter
  private let journal: (any SegmentConsumer)?
  /// Held while a segment moves from the log into the database.
  private let moving = Condition()

  /// A flusher of the segments of `log` into the database of `access`.
  init(
    of log: RedoLog, into access: DatabaseAccess, ingestion: SegmentIngestion, expiry: ExpiryFilter,
    journal: (any SegmentConsumer)? = nil
  ) {
    self.log = log
    self.access = access
    self.ingestion = ingestion
    self.expiry = expiry
    self.journal = journal
  }

  private static let backoff = Backoff(first: 250, longest: 10_000)

  /// Starts the flush thread, which runs until the log is closed, after commits and rules.
  func start() throws(StoreError) -> Thread {
    do throws(ThreadError) { return try Thread(name: "ruled-flush", priority: .background) { run() } } catch {
      throw StoreError.system(
        "the store's thread can't be started; raise TasksMax= of the unit, or ulimit -u", error.number)
    }
  }

  /// Flushes until the log is closed; retries what fails.
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

/// Brings the writes of a sealed segment of the log into the database.
///
/// The last write on each key goes, in order, into a file that the database ingests as it is: nothing passes through RocksDB's own log and memtable. Outcomes
/// have a file of their own: their keys begin with a time, so that these files don't overlap and are hardly ever rewritten. All files of a segment are ingested
/// together, and with them the segment's number, so that the database knows how far it has come.
struct SegmentIngestion {
  private let folder: String
  private let files: any FileSystem
  private let options: RocksOptions

  /// An ingestion that makes its files in `folder`, which is on the database's file system.
  init(folder: String, files: any FileSystem, options: RocksOptions) {
    self.folder = folder
    self.files = files
    self.options = options
  }

  /// The name under which the database has the number of the last segment that it ingested; part of the store's format.
  static let flushedName = "drained"

  /// The number of the last segment that the database ingested; 0 when it has none.
  static func flushed(in database: RocksDatabase) throws(StoreError) -> UInt64 {
    let key = ByteBuffer(capacity: 16)
    StoreKey.daemon(flushedName, into: key)
    let value = ByteBuffer(capacity: 8)
    defer { withExtendedLifetime((key, value)) {} }
    guard try database.get(key.bytes, into: value) else { return 0 }
    guard value.count == 8 else {
      throw StoreError(.corrupt, "the database does not say which segments of the log it took", underlying: value.text)
    }
    return UInt64(bigEndian: value.bytes.load(at: 0, as: UInt64.self))
  }

  /// Brings a segment's writes into `database`, durably; may be repeated after an error.
  func ingest(_ segment: Segment, into database: RocksDatabase) throws(StoreError) {
    var below: [UInt32] = []
    var outcomes: [UInt32] = []
    var above: [UInt32] = []
    for slot in segment.index.slots where slot.offset != 0 {
      if slot.kind == StoreKey.Kind.outcome.rawValue {
        outcomes.append(slot.offset)
      } else if slot.kind < StoreKey.Kind.outcome.rawValue {
        below.append(slot.offset)
      } else {
        above.append(slot.offset)
      }
    }
    var paths: [String] = []
    defer { for path in paths { try? files.remove(path) } }
    for (name, offsets) in [("a", below), ("d", outcomes), ("r", above)] where name == "a" || !offsets.isEmpty {
      let path = "\(folder)/\(segment.number)\(name).sst"
      paths.append(path)
      try write(SortedWrites.sort(offsets, in: segment.base), of: segment, to: path, marks: name == "a")
    }
    try database.ingest(paths)
  }

  /// How many bytes are written before the kernel is asked to write them to the disk: a burst of them would delay the commits' syncs.
  private static let dirtyBytes = 1 << 20

  /// How many writes ahead are prefetched; in the order of their keys they are anywhere in the segment.
  private static let ahead = 8
  /// How many cache lines of each are prefetched, which is about what a record and an outcome take.
  private static let linesAhead = 6

  /// Writes a file of the sorted writes at `offsets`; with `marks` the segment's number is among them.
  private func write(_ offsets: [UInt32], of segment: Segment, to path: String, marks: Bool) throws(StoreError) {
    let message = "the file \(path) can't be written"
    let environment = rocksdb_envoptions_create()
    defer { rocksdb_envoptions_destroy(environment) }
    let writer = rocksdb_sstfilewriter_create(environment, options.options)
    defer { rocksdb_sstfilewriter_destroy(writer) }
    try StoreError.check(message) { rocksdb_sstfilewriter_open(writer, path, $0) }
    let file = try files.open(path, .read)
    let mark = ByteBuffer(capacity: 16)
    StoreKey.daemon(Self.flushedName, into: mark)
    let number = ByteBuffer(capacity: 8)
    number.append(bigEndian: segment.number)
    defer { withExtendedLifetime((mark, number)) {} }
    var isMarked = !marks
    func putMark() throws(StoreError) {
      try Self.put(writer, mark.bytes, number.bytes, message)
      isMarked = true
    }
    var unsynced = 0
    for (index, offset) in offsets.enumerated() {
      let base = segment.base
      if index + Self.ahead < offsets.count {
        let next = base + Int(offsets[index + Self.ahead])
        for line in 0..<Self.linesAhead { cl_prefetch(next + 64 * line) }
      }
      let (key, value) = SegmentWrite.entry(at: Int(offset), in: base)
      if !isMarked, ByteOrder.compare(mark.bytes, key) < 0 { try putMark() }
      try Self.put(writer, key, value, message)
      unsynced += key.count + (value?.count ?? 0)
      if unsynced > Self.dirtyBytes {
        file.beginWriteback(at: 0, count: 0)
        unsynced = 0
      }
    }
    if !isMarked { try putMark() }
    try StoreError.check(message) { rocksdb_sstfilewriter_finish(writer, $0) }
  }

  @inline(__always)
  private static func put(
    _ writer: OpaquePointer?, _ key: ByteView, _ value: ByteView?, _ message: String
  ) throws(StoreError) {
    try StoreError.check(message) { error in
      if let value {
        rocksdb_sstfilewriter_put(
          writer, RocksDatabase.characters(key), key.count, RocksDatabase.characters(value), value.count, error)
      } else {
        rocksdb_sstfilewriter_delete(writer, RocksDatabase.characters(key), key.count, error)
      }
    }
  }
}
