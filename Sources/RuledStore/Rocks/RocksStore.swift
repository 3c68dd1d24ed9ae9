import Glibc
package import RuledCore

/// A store in a folder: a log of commits of our own, and RocksDB for everything that has left the log.
///
/// One process at a time has the folder open. A commit is one write to the log, with one sync when it is durable; an index in memory
/// answers for what the log holds. A thread brings full segments of the log into RocksDB's files. When a commit fails the store is poisoned, and
/// `reopen()` writes the log anew without it, so that nothing comes back to life that its sender was told had failed. Reads go on in the meantime.
package final class RocksStore: StateStore, @unchecked Sendable {  // what changes is guarded by `commitLock`
  /// The layout of keys, records and log that is written and read.
  package static let format = 2

  /// The folder of the store.
  package let path: String
  private let options: RocksOptions
  private let log: RedoLog
  private let access: DatabaseAccess
  private var folderLock: FolderLock?
  private var drain: DrainThread?
  /// Held during a commit.
  private let commitLock = Condition()
  /// Why the last commit failed, guarded by `commitLock`.
  private var failure: StoreError?

  /// Opens the store in the folder `path`, and makes it when there is none; the cache keeps blocks that have been read.
  ///
  /// Throws `in_use` when another has it open, and `newer_format` when a later version of the daemon wrote it.
  package convenience init(path: String, blockCacheBytes: Int = 64 << 20) throws(StoreError) {
    try self.init(path: path, blockCacheBytes: blockCacheBytes, drains: true)
  }

  /// As the other; without a drain everything stays in the log, and the store must not be closed.
  init(path: String, blockCacheBytes: Int, drains: Bool) throws(StoreError) {
    self.path = path
    try Folder.create(path)
    folderLock = try FolderLock(folder: path)
    options = RocksOptions(blockCacheBytes: blockCacheBytes)
    let opened = try RocksDatabase(path: path, options: options)
    try StoreFormat.check(opened, path: path)
    access = DatabaseAccess(opened, path: path)
    log = try RedoLog(folder: path + "/log")
    let work = Drain(of: log, into: access, folder: path + "/log", options: options)
    if drains { drain = DrainThread { work.run() } }
  }

  deinit { end() }

  package var name: String { "rocksdb" }

  package var approximateBytes: Int {
    let size = try? access.reading { (database) throws(StoreError) in database.property("rocksdb.live-sst-files-size") }
    return (size ?? 0) + log.byteCount
  }

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
    let set = set.hasRanges ? try withoutRanges(set) : set
    try writing { () throws(StoreError) in
      if !set.isEmpty { try log.append(set.records, durable: durable) } else if durable { try log.sync() }
    }
  }

  package func sync() throws(StoreError) {
    try writing { () throws(StoreError) in try log.sync() }
  }

  /// Writes the log anew without the failed commit, and opens the database again.
  ///
  /// When that fails, as on a disk that is still full, the database is opened to read only, so that queries are answered.
  package func reopen() throws(StoreError) {
    try commitLock.locked { () throws(StoreError) in
      guard folderLock != nil else { throw DatabaseAccess.closed(path) }
      do throws(StoreError) {
        try log.repair()
        try access.replace { () throws(StoreError) in
          let opened = try RocksDatabase(path: path, options: options)
          try StoreFormat.check(opened, path: path)
          return opened
        } instead: { () throws(StoreError) in
          try RocksDatabase(readOnly: path, options: options)
        }
        failure = nil
      } catch {
        failure = failure ?? error
        throw error
      }
    }
  }

  package func withCursor(
    below upper: UnsafeRawBufferPointer?, _ body: (any StoreCursor) throws(StoreError) -> Void
  ) throws(StoreError) {
    try access.reading { (database) throws(StoreError) in
      let cursor = MergedCursor(below: upper) { [unowned self] scope in
        commitLock.locked { (log.writes(in: scope), RocksCursor(database, below: upper)) }
      }
      try body(cursor)
    }
  }

  package func checkpoint(to path: String) throws(StoreError) {
    try settle()
    try access.reading { (database) throws(StoreError) in try database.checkpoint(to: path) }
  }

  package func expire(before cutoff: Int64) { options.expiry.cutoff.store(cutoff, ordering: .relaxed) }

  /// Brings the log into the files and rewrites all of these, so that everything removed or expired is gone from them.
  package func compact() throws(StoreError) {
    try settle()
    try access.reading { (database) throws(StoreError) in database.compact() }
  }

  package func close() throws(StoreError) {
    guard commitLock.locked({ folderLock != nil }) else { return }
    var problem: StoreError?
    do throws(StoreError) {
      if commitLock.locked({ failure != nil }) { try reopen() }
      try settle()
    } catch { problem = error }
    end()
    if let problem { throw problem }
  }

  /// Lets go of the files; what the log holds is taken up by the next opening.
  private func end() {
    log.close()
    drain?.join()
    drain = nil
    access.close()
    commitLock.locked {
      if folderLock != nil { log.removeActive() }
      folderLock = nil
    }
  }

  /// Seals what the log holds and waits until it stands in the database.
  private func settle() throws(StoreError) {
    try writing { () throws(StoreError) in try log.rotate() }
    try log.awaitDrained()
  }

  private func writing(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    try commitLock.locked { () throws(StoreError) in
      if let failure {
        throw StoreError(
          .poisoned, "the store at \(path) takes no commit until it is reopened, since an earlier one failed",
          underlying: failure.description)
      }
      guard folderLock != nil else { throw DatabaseAccess.closed(path) }
      do throws(StoreError) {
        try body()
      } catch {
        failure = error
        throw error
      }
    }
  }

  /// The same writes, each removed range spelt out as the keys that stand in it.
  private func withoutRanges(_ set: WriteSet) throws(StoreError) -> WriteSet {
    let plain = WriteSet(capacity: set.byteCount + 1024)
    var problem: StoreError?
    set.forEach { operation in
      switch operation {
      case .put(let key, let value): plain.put(key, value)
      case .delete(let key): plain.delete(key)
      case .deleteRange(let lower, let upper):
        do throws(StoreError) { try spellOut(lower, upper, into: plain) } catch { problem = error }
      }
    }
    if let problem { throw problem }
    return plain
  }

  private func spellOut(
    _ lower: UnsafeRawBufferPointer, _ upper: UnsafeRawBufferPointer, into set: WriteSet
  ) throws(StoreError) {
    var keys: [[UInt8]] = []
    set.forEach { operation in
      if case .put(let key, _) = operation, ByteOrder.compare(lower, key) <= 0, ByteOrder.compare(key, upper) < 0 {
        keys.append(Array(key))
      }
    }
    try scan(from: lower, to: upper) { key, _ in
      keys.append(Array(key))
      return true
    }
    for key in keys { key.withUnsafeBytes { set.delete($0) } }
  }
}
