import CLinux
import CRocksDB
import RuledCore

/// Brings the writes of a sealed segment of the log into the database.
///
/// The last write on each key goes, in order, into a file that the database ingests as it is: nothing passes through RocksDB's own log and memtable. Outcomes
/// have a file of their own: their keys begin with a time, so that these files don't overlap and are hardly ever rewritten. All files of a segment are ingested
/// together, and with them the segment's number, so that the database knows how far it has come.
struct SegmentIngestion {
  /// Where it makes its files, on the database's file system.
  let folder: String
  let files: any FileSystem
  let options: RocksOptions

  /// The number of the last segment that the database ingested.
  static let flushed = StoredValue(name: "drained")

  /// The number of the last segment that the database ingested; 0 when it has none.
  static func flushed(in database: RocksDatabase) throws(StoreError) -> UInt64 {
    guard let value = try flushed.read(from: database) else { return 0 }
    guard let number = value.number else {
      throw StoreError(.corrupt, "the database does not say which segments of the log it took", underlying: value.text)
    }
    return number
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

  /// The bytes written between two requests to the kernel to write them to the disk: a burst would delay the commits' syncs.
  private static let dirtyBytes = 1 << 20

  /// The number of writes prefetched ahead: in the order of their keys, they are scattered over the segment.
  private static let ahead = 8
  /// The number of cache lines prefetched of each: about the size of a record and an outcome.
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
    Self.flushed.key.withView { mark.append($0) }
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
