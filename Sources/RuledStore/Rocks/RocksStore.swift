package import RuledCore
import RuledThreads
import Synchronization

/// A store in a folder: a log of commits of our own, and RocksDB for everything that has left the log.
///
/// One process at a time has the folder open. A commit is one write to the log, and a sync makes all earlier commits durable; an index in memory finds
/// the log's values. The flush thread brings full segments of the log into RocksDB's files. After a failed commit none is accepted until `reopen()`, which
/// begins another file of the log: so no start finds a commit that was reported as failed. Reads continue meanwhile.
package final class RocksStore: StateStore {
  /// The layout of keys, records and log that is written and read.
  package static let format = 6

  package let path: String
  private let files: any FileSystem
  private let options: RocksOptions
  private let manifest: LogManifest
  private let log: RedoLog
  private let access: DatabaseAccess
  /// Held by a durable commit from its append to its sync, and by `reopen`.
  ///
  /// Otherwise a commit that `reopen` discards would sync nothing and report success.
  private let committing = Condition()
  private let flusher: SegmentFlusher
  private let folderLock: Mutex<FolderLock?>
  private let thread: Mutex<Thread?>

  /// Opens the store in the folder `path`, and makes it when there is none; the cache is for blocks of the files.
  ///
  /// Throws `in_use` when another process has it open, `newer_format` when a later version of the daemon wrote it, and `corrupt`, with the losses and the
  /// remedy, when durable commits are gone.
  ///
  /// `journal` gets its records from the log before the log forgets them.
  package convenience init(
    path: String, blockCacheBytes: Int = 64 << 20, journal: (any SegmentConsumer)? = nil
  ) throws(StoreError) {
    try StoreReplacement.finish(in: path)
    try self.init(path: path, blockCacheBytes: blockCacheBytes, flushes: true, journal: journal)
  }

  /// Opens a store that is removed when its process ends: it takes less memory, and brings its log into the database sooner.
  package convenience init(temporary path: String) throws(StoreError) {
    let settings = LogSettings(segmentBytes: 16 << 20, longestBacklog: 2)
    try self.init(path: path, blockCacheBytes: 32 << 20, settings: settings)
  }

  /// Opens the store with other files and sizes.
  ///
  /// Without a flush thread sealed segments wait for `flushOnce`, and the store must not be closed.
  init(
    path: String, blockCacheBytes: Int, flushes: Bool = true, files: any FileSystem = SystemFiles(),
    environment: RocksEnvironment? = nil, settings: LogSettings = LogSettings(), journal: (any SegmentConsumer)? = nil
  ) throws(StoreError) {
    self.path = path
    self.files = files
    try files.createFolder(path)
    folderLock = Mutex(try FolderLock(folder: path))
    options = RocksOptions(blockCacheBytes: blockCacheBytes, environment: environment)
    let opening = StoreOpening(path: path, files: files, options: options)
    let database: RocksDatabase
    (database, manifest) = try opening.run()
    access = DatabaseAccess(database, path: path, options: options)
    let ingestion = SegmentIngestion(folder: opening.logFolder, files: files, options: options)
    log = try RedoLog(files, path: path, folder: opening.logFolder, manifest: manifest, settings: settings) {
      (segment) throws(StoreError) in
      journal?.consume(LoggedCommits(segment, end: segment.end))
      try ingestion.ingest(segment, into: database)
    }
    flusher = SegmentFlusher(log: log, access: access, ingestion: ingestion, expiry: options.expiry, journal: journal)
    thread = Mutex(flushes ? try flusher.start() : nil)
  }

  deinit { end() }

  package var name: String { "rocksdb" }

  package var disk: StoreDisk? {
    StoreDisk(
      bytes: Folder.diskBytes(path, without: "journal"), logBytes: logBytes, sealedSegments: log.segments.sealedCount)
  }

  var logBytes: Int { log.segments.byteCount }

  /// A note for the operator about bytes dropped at the end of the log when the store was opened; nil when there were none.
  package var openingNote: String? { log.openingNote }

  // MARK: Reading

  package func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    try access.reading { (database) throws(StoreError) in
      switch log.segments.find(key, into: buffer) {
      case .value: true
      case .deleted: false
      case .absent: try database.get(key, into: buffer)
      }
    }
  }

  package func withCursor(
    below upper: ByteView?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    try access.reading { (database) throws(StoreError) in
      let cursor = MergedCursor(below: upper) { [unowned self] scope in
        (log.segments.writes(in: scope), RocksCursor(database, below: upper))
      }
      try body(cursor)
    }
  }

  // MARK: Committing

  package var state: StoreState { log.state }

  package func commit(_ set: WriteSet, durable: Bool) throws(StoreError) {
    guard durable else {
      if !set.isEmpty { while try appendCommit(set, isCommitted: true) == nil { try makeRoom(for: set.byteCount) } }
      return
    }
    try committing.locked { () throws(StoreError) in
      guard !set.isEmpty else { return _ = try syncCommits() }
      let number = try append(set)
      do throws(StoreError) { try syncCommits() } catch {
        // another thread's sync may have committed it before the failure
        guard committedSequence >= number else { throw error }
      }
    }
  }

  package func appendCommit(_ set: WriteSet, isCommitted: Bool) throws(StoreError) -> UInt64? {
    try log.appendFrame(set.records, isCommitted: isCommitted)
  }

  package func makeRoom(for byteCount: Int) throws(StoreError) { try log.makeRoom(for: byteCount) }

  @discardableResult
  package func syncCommits() throws(StoreError) -> UInt64 { try log.syncFrames() }

  package var committedSequence: UInt64 { log.committedSequence }

  package func reopen() throws(StoreError) {
    try committing.locked { () throws(StoreError) in try log.reopen() }
  }

  // MARK: Background

  /// Seals the log's active segment, so that it is flushed.
  func seal() throws(StoreError) { try log.seal() }

  /// Does the next piece of the flush thread's work, if there is any, for a store without that thread.
  func flushOnce() throws(StoreError) { try flusher.work(within: 0) }

  package var problem: StoreError? {
    guard let (error, waiting) = log.segments.flushProblem else { return nil }
    return StoreError(
      error.code, "\(waiting) segments of the log can't be brought into the database: \(error.message)",
      underlying: error.underlying)
  }

  /// The names of the values that belong to the store itself, and to no other.
  private static let ownKeys = [StoreFormat.stored.key, SegmentIngestion.flushed.key]

  /// As `scan`, over all committed values except the store's own.
  package func scanCommitted(_ body: (_ key: ByteView, _ value: ByteView) -> Bool) throws(StoreError) {
    try scan(from: [], to: nil) { key, value in
      Self.ownKeys.contains { key.elementsEqual($0) } || body(key, value)
    }
  }

  /// Commits go on meanwhile: the database's files are linked, and the log's contents at that moment are written from memory.
  package func checkpoint(to path: String) throws(StoreError) { _ = try snapshot(to: path) }

  /// The sequence of the last change, 0 when there was none.
  package func lastSequence() throws(StoreError) -> UInt64 {
    try StoredValue.sequence.read(from: self)?.number ?? 0
  }

  /// As `checkpoint`; gives the sequence of the last change that the copy has, 0 when it has none.
  package func snapshot(to path: String) throws(StoreError) -> UInt64 {
    let (copy, known) = try flusher.paused { () throws(StoreError) in
      try access.reading { (database) throws(StoreError) in
        try database.checkpoint(to: path)
        let known = try StoredValue.sequence.read(from: database)?.number ?? 0
        return (LogCopy(of: log.segments, flushed: try SegmentIngestion.flushed(in: database)), known)
      }
    }
    try copy.write(to: path, files)
    return copy.segments.reduce(known) { known, part in
      max(known, LoggedCommits(part.segment, end: part.end).lastSequence ?? 0)
    }
  }

  /// The commits that the log still holds, the earliest first; some of them may be flushed meanwhile.
  package var loggedCommits: [LoggedCommits] { log.segments.committed.map { LoggedCommits($0.segment, end: $0.end) } }

  package func expire(before cutoff: Int64) { options.expiry.cutoff.store(cutoff, ordering: .relaxed) }

  /// Brings the log into the database and rewrites all files, so that no file of the store has removed or expired values from before.
  ///
  /// It reads and writes as much as the store has. Reads and commits go on meanwhile, but for the moment in which the database is opened anew: its MANIFEST
  /// has the first and last keys of the files that are gone.
  package func compact() throws(StoreError) {
    try log.renewFiles()
    // Without the lock, which a flush needs that opens the database anew.
    try access.reading({ (database) throws(StoreError) in database }).compact()
    try flusher.paused { () throws(StoreError) in try access.reopen() }
  }

  /// Seals the log's active segment and waits until all segments are in the journal and in the database.
  package func flushAll() throws(StoreError) {
    try log.seal()
    try log.waitForFlush()
  }

  // MARK: Closing

  package func close() throws(StoreError) {
    guard !log.isClosed else { return }
    var problem: StoreError?
    do throws(StoreError) {
      if state.failure != nil { try reopen() }
      try flushAll()
    } catch { problem = error }
    end()
    if let problem { throw problem }
  }

  /// Releases the files at once, for a store that is removed next: the log's contents are not brought into the database.
  package func abandon() { end() }

  /// Releases the files; the next opening recovers the log.
  private func end() {
    let left = log.close()
    if case .closed = left { return }
    thread.withLock { $0.take() }?.join()
    access.close()
    if case .open = left { log.removeFiles() }
    folderLock.withLock { $0 = nil }
  }
}
