import Glibc
package import RuledCore

/// A store in a folder: a log of commits of our own, and RocksDB for everything that has left the log.
///
/// One process at a time has the folder open. A commit is one write to the log, and a sync makes durable all that came before it; an index in memory
/// answers for what the log holds. A thread brings full segments of the log into RocksDB's files. When a commit fails the store is poisoned, and
/// `reopen()` writes the log anew without it, so that nothing comes back to life that its sender was told had failed. Reads go on in the meantime.
package final class RocksStore: StateStore, @unchecked Sendable {  // the folder's lock is guarded by the writer's
  /// The layout of keys, records and log that is written and read.
  package static let format = 3

  /// The folder of the store.
  package let path: String
  private let options: RocksOptions
  private let log: RedoLog
  private let writer: LogWriter
  private let access: DatabaseAccess
  private var folderLock: FolderLock?
  private var drain: DrainThread?

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
    writer = LogWriter(log, of: path)
    let work = Drain(of: log, into: access, folder: path + "/log", options: options)
    if drains { drain = try DrainThread { work.run() } }
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
    try writer.exclusively { () throws(StoreError) in
      let set = try withoutRanges(set)
      defer { withExtendedLifetime(set) {} }
      if !set.isEmpty { try writer.commit(set.records, durable: durable) } else if durable { _ = try writer.sync() }
    }
  }

  package func append(_ set: WriteSet) throws(StoreError) -> UInt64 {
    try writer.exclusively { () throws(StoreError) in
      let set = try withoutRanges(set)
      defer { withExtendedLifetime(set) {} }
      return try writer.append(set.records)
    }
  }

  @discardableResult
  package func sync() throws(StoreError) -> UInt64 { try writer.sync() }

  package var counted: UInt64 { writer.lastCounted }

  /// Writes the log anew without the failed commit, and opens the database again.
  ///
  /// When that fails, as on a disk that is still full, the database is opened to read only, so that queries are answered.
  package func reopen() throws(StoreError) {
    try writer.repair { () throws(StoreError) in
      try access.replace { () throws(StoreError) in
        let opened = try RocksDatabase(path: path, options: options)
        try StoreFormat.check(opened, path: path)
        return opened
      } instead: { () throws(StoreError) in
        try RocksDatabase(readOnly: path, options: options)
      }
    }
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
    try access.reading { (database) throws(StoreError) in try database.checkpoint(to: path) }
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
    drain?.join()
    drain = nil
    access.close()
    writer.close {
      log.removeActive()
      folderLock = nil
    }
  }

  /// Seals what the log holds and waits until it stands in the database.
  private func settle() throws(StoreError) {
    try writer.seal()
    try log.awaitDrained()
  }

  /// The same writes, each removed range spelt out as the keys that stand in it once everything before counts.
  private func withoutRanges(_ set: WriteSet) throws(StoreError) -> WriteSet {
    guard set.hasRanges else { return set }
    try writer.settle()
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
