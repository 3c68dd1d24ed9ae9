import Glibc
package import RuledCore

/// A store in a folder: a log of commits of our own, and RocksDB for everything that has left the log.
///
/// One process at a time has the folder open. A commit is one write to the log, and a sync makes durable all that came before it; an index in memory
/// answers for what the log holds. A thread brings full segments of the log into RocksDB's files. When a commit fails the store is poisoned, and
/// `reopen()` goes on with another file of the log, so that nothing comes back to life that its sender was told had failed. Reads go on in the meantime.
package final class RocksStore: StateStore, @unchecked Sendable {  // the folder's lock is guarded by the writer's
  /// The layout of keys, records and log that is written and read.
  package static let format = 4

  /// The folder of the store.
  package let path: String
  private let files: any FileSystem
  private let options: RocksOptions
  private let manifest: LogManifest
  private let log: RedoLog
  private let writer: LogWriter
  private let access: DatabaseAccess
  private var folderLock: FolderLock?
  private let drain: Drain
  private var thread: DrainThread?

  /// Opens the store in the folder `path`, and makes it when there is none; the cache keeps blocks that have been read.
  ///
  /// Throws `in_use` when another has it open, `newer_format` when a later version of the daemon wrote it, and `corrupt`, with what is lost and a way on,
  /// when what was durable is not there any more.
  package convenience init(path: String, blockCacheBytes: Int = 64 << 20) throws(StoreError) {
    try self.init(path: path, blockCacheBytes: blockCacheBytes, drains: true)
  }

  /// As the other, with other files and sizes; without a drain of its own what is sealed waits for `drainOnce`, and the store must not be closed.
  init(
    path: String, blockCacheBytes: Int, drains: Bool = true, files: any FileSystem = SystemFiles(),
    environment: OpaquePointer? = nil, settings: LogSettings = LogSettings()
  ) throws(StoreError) {
    self.path = path
    self.files = files
    try files.createFolder(path)
    folderLock = try FolderLock(folder: path)
    options = RocksOptions(blockCacheBytes: blockCacheBytes, environment: environment)
    let opening = StoreOpening(path: path, files: files, options: options)
    let database: RocksDatabase
    (database, manifest) = try opening.run()
    access = DatabaseAccess(database, path: path, options: options)
    let ingestion = SegmentIngestion(folder: opening.logFolder, files: files, options: options)
    log = try RedoLog(files, folder: opening.logFolder, manifest: manifest, settings: settings) {
      (segment) throws(StoreError) in try ingestion.bring(segment, into: database)
    }
    writer = LogWriter(log, of: path)
    let drain = Drain(of: log, into: access, ingestion: ingestion, options: options)
    self.drain = drain
    if drains { thread = try DrainThread { drain.run() } }
  }

  deinit { end() }

  package var name: String { "rocksdb" }

  package var approximateBytes: Int {
    let size = try? access.reading { (database) throws(StoreError) in database.property("rocksdb.live-sst-files-size") }
    return (size ?? 0) + logBytes
  }

  /// How many bytes stand in the log.
  var logBytes: Int { log.byteCount }

  package func get(_ key: UnsafeRawBufferPointer, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    try access.reading { (database) throws(StoreError) in
      switch log.find(key, into: buffer) {
      case .value: true
      case .deleted: false
      case .absent: try database.get(key, into: buffer)
      }
    }
  }

  package func commit(_ set: WriteSet, durable: Bool) throws(StoreError) {
    try writer.exclusively { () throws(StoreError) in
      if !set.isEmpty { try writer.commit(set.records, durable: durable) } else if durable { _ = try writer.sync() }
    }
  }

  package func append(_ set: WriteSet) throws(StoreError) -> UInt64 {
    try writer.exclusively { () throws(StoreError) in try writer.append(set.records) }
  }

  @discardableResult
  package func sync() throws(StoreError) -> UInt64 { try writer.sync() }

  package var lastCommitted: UInt64 { writer.lastCommitted }

  /// What was left out at the end of the log when the store was opened, for the operator; nil when nothing was.
  package var openingNote: String? { log.openingNote }

  package func reopen() throws(StoreError) { try writer.repair() }

  /// Does what the drain finds to do, if there is anything, for a store without a drain of its own.
  func drainOnce() throws(StoreError) { try drain.work(within: 0) }

  package var problem: StoreError? {
    guard let (error, waiting) = log.drainProblem else { return nil }
    return StoreError(
      error.code, "\(waiting) segments of the log can't be brought into the database: \(error.message)",
      underlying: error.underlying)
  }

  package func withCursor(
    below upper: UnsafeRawBufferPointer?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    try access.reading { (database) throws(StoreError) in
      let cursor = MergedCursor(below: upper) { [unowned self] scope in
        (log.writes(in: scope), RocksCursor(database, below: upper))
      }
      try body(cursor)
    }
  }

  package func checkpoint(to path: String) throws(StoreError) {
    try settle()
    try access.reading { (database) throws(StoreError) in
      try database.checkpoint(to: path)
      let drained = try SegmentIngestion.drained(in: database)
      try LogManifest.write(.init(drained: drained, last: drained, next: drained + 1), to: path, files)
    }
  }

  package func expire(before cutoff: Int64) { options.expiry.cutoff.store(cutoff, ordering: .relaxed) }

  /// Brings the log into the files and rewrites all of these, so that everything removed or expired is gone from them.
  package func compact() throws(StoreError) {
    try settle()
    try access.reading { (database) throws(StoreError) in database.compact() }
  }

  package func close() throws(StoreError) {
    guard !writer.hasEnded else { return }
    var problem: StoreError?
    do throws(StoreError) {
      if writer.hasFailed { try reopen() }
      try settle()
    } catch { problem = error }
    end()
    if let problem { throw problem }
  }

  /// Lets go of the files; what the log holds is taken up by the next opening.
  private func end() {
    log.close()
    thread?.join()
    thread = nil
    access.close()
    writer.close {
      log.removeFiles()
      folderLock = nil
    }
  }

  /// Seals what the log holds and waits until it stands in the database.
  private func settle() throws(StoreError) {
    try writer.seal()
    try log.awaitDrained()
  }
}
