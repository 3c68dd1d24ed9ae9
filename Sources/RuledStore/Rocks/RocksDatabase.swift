import CRocksDB
import CRocksEnv
import Glibc
import RuledCore
import Synchronization

/// An open database of RocksDB, from opening to closing.
final class RocksDatabase: @unchecked Sendable {  // RocksDB guards itself; the handle lives as long as this
  let handle: OpaquePointer
  private let options: RocksOptions
  private let path: String
  let isReadOnly: Bool
  /// Whether the contents of the MANIFEST are unknown.
  private let isUncertain = Atomic(false)
  /// The last ranges of damaged keys whose ends a cursor has searched for, so that no other cursor searches again.
  let knownDamage = Mutex<[UnreadableKeys]>([])
  /// The most ranges in `knownDamage`.
  static let mostKnownDamage = 64

  /// Opens the database in the folder `path`, with LZ4 where this build of RocksDB has it.
  init(path: String, options: RocksOptions) throws(StoreError) {
    self.path = path
    self.options = options
    isReadOnly = false
    let message = "the store at \(path) can't be opened"
    func open() throws(StoreError) -> OpaquePointer? {
      try StoreError.check(message) { rocksdb_open(options.options, path, $0) }
    }
    options.setCompression(true)
    var opened: OpaquePointer?
    do throws(StoreError) {
      opened = try open()
    } catch {
      guard error.code == .refused, error.underlying.contains("ompression") else { throw error }
      options.setCompression(false)
      opened = try open()
    }
    guard let opened else { throw StoreError(.refused, message) }
    handle = opened
  }

  /// Opens the database to read only, which writes nothing and so works on a full disk.
  init(readOnly path: String, options: RocksOptions) throws(StoreError) {
    self.path = path
    self.options = options
    isReadOnly = true
    let message = "the store at \(path) can't be read"
    let opened = try StoreError.check(message) { rocksdb_open_for_read_only(options.options, path, 0, $0) }
    guard let opened else { throw StoreError(.refused, message) }
    handle = opened
  }

  deinit { rocksdb_close(handle) }

  /// Whether it ingests nothing until it has been opened anew.
  var needsReopening: Bool { isReadOnly || isUncertain.load(ordering: .relaxed) }

  /// Appends the value under `key` to `buffer`; false when there is none.
  func get(_ key: ByteView, into buffer: ByteBuffer) throws(StoreError) -> Bool {
    let slice = try StoreError.check("the store at \(path) can't be read") {
      rocksdb_get_pinned(handle, options.read, Self.characters(key), key.count, $0)
    }
    guard let slice else { return false }
    defer { rocksdb_pinnableslice_destroy(slice) }
    var length = 0
    let start = rocksdb_pinnableslice_value(slice, &length)
    buffer.append(ByteView(start: start, count: length))
    return true
  }

  /// Puts a value under a key, in the files when this returns.
  func put(_ key: ByteView, _ value: ByteView) throws(StoreError) {
    let writing = rocksdb_writeoptions_create()
    defer { rocksdb_writeoptions_destroy(writing) }
    try StoreError.check("the store at \(path) can't be written") {
      rocksdb_put(handle, writing, Self.characters(key), key.count, Self.characters(value), value.count, $0)
    }
    try flush()
  }

  /// Makes files of sorted keys, none of which overlaps another, part of the database, all together or none; they are moved.
  ///
  /// When this returns, that is durable. After an error the contents of RocksDB's MANIFEST are unknown: the database must be opened anew before
  /// it ingests anything else, and keeps the files until then.
  func ingest(_ files: [String]) throws(StoreError) {
    let ingesting = rocksdb_ingestexternalfileoptions_create()
    defer { rocksdb_ingestexternalfileoptions_destroy(ingesting) }
    rocksdb_ingestexternalfileoptions_set_move_files(ingesting, 1)
    let names = files.map { strdup($0) }
    defer { for name in names { free(name) } }
    var pointers = names.map { UnsafePointer<CChar>($0) }
    cre_set_ingesting(true)
    defer { cre_set_ingesting(false) }
    isUncertain.store(true, ordering: .relaxed)
    try StoreError.check("the store at \(path) can't take over \(files.joined(separator: ", "))") { error in
      rocksdb_ingest_external_file(handle, &pointers, pointers.count, ingesting, error)
    }
    isUncertain.store(false, ordering: .relaxed)
  }

  /// Removes the files that hold nothing but keys from `lower` on and up to `upper`.
  func deleteFiles(from lower: [UInt8], to upper: [UInt8]) throws(StoreError) {
    try StoreError.check("expired files of the store at \(path) can't be removed") { error in
      lower.withView { lower in
        upper.withView { upper in
          rocksdb_delete_file_in_range(
            handle, Self.characters(lower), lower.count, Self.characters(upper), upper.count, error)
        }
      }
    }
  }

  private func flush() throws(StoreError) {
    let flushing = rocksdb_flushoptions_create()
    defer { rocksdb_flushoptions_destroy(flushing) }
    rocksdb_flushoptions_set_wait(flushing, 1)
    try StoreError.check("the store at \(path) can't be flushed") { rocksdb_flush(handle, flushing, $0) }
  }

  /// Rewrites all files, so that everything removed or expired is gone from them.
  func compact() throws(StoreError) {
    let compacting = rocksdb_compactoptions_create()
    defer { rocksdb_compactoptions_destroy(compacting) }
    rocksdb_compactoptions_set_bottommost_level_compaction(compacting, 2)
    rocksdb_compactoptions_set_exclusive_manual_compaction(compacting, 0)
    // RocksDB does not return the error of a compaction, but it counts it.
    let errors = property("rocksdb.background-errors")
    rocksdb_compact_range_opt(handle, compacting, nil, 0, nil, 0)
    guard property("rocksdb.background-errors") == errors else {
      throw StoreError(.inputOutput, "the files of the store at \(path) can't be rewritten")
    }
  }

  /// Writes a copy into the new folder `target`.
  func checkpoint(to target: String) throws(StoreError) {
    let message = "the store at \(path) can't be copied to \(target)"
    let checkpoint = try StoreError.check(message) { rocksdb_checkpoint_object_create(handle, $0) }
    defer { rocksdb_checkpoint_object_destroy(checkpoint) }
    try StoreError.check(message) { rocksdb_checkpoint_create(checkpoint, target, 0, $0) }
  }

  /// A number that RocksDB counts, such as `rocksdb.live-sst-files-size`; 0 when it does not know it.
  func property(_ name: String) -> Int {
    var value: UInt64 = 0
    return rocksdb_property_int(handle, name, &value) == 0 ? Int(clamping: value) : 0
  }

  /// The same bytes as C's characters.
  static func characters(_ bytes: ByteView) -> UnsafePointer<CChar>? {
    bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
  }
}

extension StoreError {
  /// An error of RocksDB by its text, such as `IO error: No space left on device: …`.
  static func database(_ message: String, _ text: String) -> StoreError {
    if text.contains("No space left") || text.contains("quota exceeded") {
      return StoreError(.diskFull, "\(message): no space is left on its disk", underlying: text)
    }
    // RocksDB calls a file that it can't stat corrupt too
    let isUnreadable = text.contains("IO error") && !text.contains("No such file")
    if text.hasPrefix("Corruption"), !isUnreadable {
      return StoreError(.corrupt, "\(message): its files are damaged, restore a backup", underlying: text)
    }
    if text.hasPrefix("IO error") || isUnreadable { return StoreError(.inputOutput, message, underlying: text) }
    return StoreError(.refused, message, underlying: text)
  }

  /// Calls `body` with a pointer for RocksDB's error text, and throws the error that it leaves there.
  static func check<Result>(
    _ message: @autoclosure () -> String, _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) throws(StoreError) -> Result {
    var text: UnsafeMutablePointer<CChar>?
    let result = body(&text)
    if let text {
      defer { rocksdb_free(text) }
      throw database(message(), String(cString: text))
    }
    return result
  }
}
