import CRocksDB
import Glibc
package import RuledCore
import Synchronization

/// A store in a folder, kept by RocksDB.
///
/// One process at a time has the folder open. A commit is one write to RocksDB's log, with one fsync when it is durable.
/// When that fails the store is poisoned: what the log holds of the failed commit is cut off at `reopen()`, so that
/// nothing comes back to life that its sender was told had failed. Reads go on in the meantime.
package final class RocksStore: StateStore, @unchecked Sendable {  // `database` is guarded by `lock`
  /// The layout of keys and records that is written, and the latest that is read.
  package static let format = 1

  private struct Failure {
    let error: StoreError
    let lastGoodSequence: UInt64
  }

  /// The folder of the store.
  package let path: String
  private let options: RocksOptions
  private let lock = ReadWriteLock()
  private var database: RocksDatabase?
  private var folderLock: FolderLock?
  /// Held during a commit, so that what was good before it is known.
  private let failure = Mutex<Failure?>(nil)

  /// Opens the store in the folder `path`, and makes it when there is none; the cache keeps blocks that have been read.
  ///
  /// Throws `in_use` when another has it open, and `newer_format` when a later version of the daemon wrote it.
  package init(path: String, blockCacheBytes: Int = 64 << 20) throws(StoreError) {
    self.path = path
    try Folder.create(path)
    folderLock = try FolderLock(folder: path)
    options = RocksOptions(blockCacheBytes: blockCacheBytes)
    let opened = try RocksDatabase(path: path, options: options)
    try StoreFormat.check(opened, path: path)
    database = opened
  }

  package var name: String { "rocksdb" }

  package var approximateBytes: Int {
    let size = try? reading { (database) throws(StoreError) in
      database.property("rocksdb.live-sst-files-size") + database.property("rocksdb.cur-size-all-mem-tables")
    }
    return size ?? 0
  }

  package func get(_ key: UnsafeRawBufferPointer, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    try reading { (database) throws(StoreError) in try database.get(key, into: buffer) }
  }

  package func commit(_ set: WriteSet, durable: Bool) throws(StoreError) {
    try writing { (database) throws(StoreError) in try database.write(set.representation, durable: durable) }
  }

  package func sync() throws(StoreError) {
    try writing { (database) throws(StoreError) in try database.sync() }
  }

  /// Cuts the failed commit off the log and opens the folder anew.
  ///
  /// When that fails, as on a disk that is still full, the folder is opened to read only, so that queries are answered.
  package func reopen() throws(StoreError) {
    try lock.writing { () throws(StoreError) in
      guard folderLock != nil else { throw closedError }
      database = nil
      do throws(StoreError) {
        try cutFailedCommit()
        let opened = try RocksDatabase(path: path, options: options)
        try StoreFormat.check(opened, path: path)
        database = opened
        failure.withLock { $0 = nil }
      } catch {
        failure.withLock { $0 = $0 ?? Failure(error: error, lastGoodSequence: .max) }
        database = try? RocksDatabase(readOnly: path, options: options)
        throw error
      }
    }
  }

  package func withCursor(
    below upper: UnsafeRawBufferPointer?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    try reading { (database) throws(StoreError) in
      let cursor = RocksCursor(database, below: upper)
      try body(cursor)
    }
  }

  package func checkpoint(to path: String) throws(StoreError) {
    try reading { (database) throws(StoreError) in try database.checkpoint(to: path) }
  }

  package func expire(before cutoff: Int64) { options.expiry.cutoff.store(cutoff, ordering: .relaxed) }

  /// Rewrites all files now, so that everything removed or expired is gone from them.
  package func compact() throws(StoreError) {
    try reading { (database) throws(StoreError) in
      try database.flush()
      database.compact()
    }
  }

  package func close() throws(StoreError) {
    try lock.writing { () throws(StoreError) in
      guard folderLock != nil else { return }
      defer { folderLock = nil }
      defer { database = nil }
      if failure.withLock({ $0 == nil }) {
        try database?.flush()
      } else {
        database = nil
        try cutFailedCommit()
      }
    }
  }

  private func reading<Result>(
    _ body: (RocksDatabase) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try lock.reading { () throws(StoreError) in
      guard let database else { throw folderLock == nil ? closedError : unreadableError }
      return try body(database)
    }
  }

  private func writing(_ body: (RocksDatabase) throws(StoreError) -> Void) throws(StoreError) {
    try reading { (database) throws(StoreError) in
      try failure.withLock { (failure) throws(StoreError) in
        if let failure {
          throw StoreError(
            .poisoned, "the store at \(path) takes no commit until it is reopened, since an earlier one failed",
            underlying: failure.error.description)
        }
        let lastGood = database.sequence
        do throws(StoreError) {
          try body(database)
        } catch {
          failure = Failure(error: error, lastGoodSequence: lastGood)
          throw error
        }
      }
    }
  }

  /// Cuts the failed commit off the log; no database may be open.
  private func cutFailedCommit() throws(StoreError) {
    guard let sequence = failure.withLock({ $0?.lastGoodSequence }) else { return }
    try WriteAheadLog.cut(after: sequence, folder: path)
  }

  private var closedError: StoreError { StoreError(.closed, "the store at \(path) has been closed") }

  private var unreadableError: StoreError {
    StoreError(.inputOutput, "the store at \(path) could not be reopened and can't be read")
  }
}
