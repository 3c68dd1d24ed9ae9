import CLinux
import CRocksDB
import Glibc

/// Brings what sealed segments of the log left behind into files of the database.
///
/// The last write on each key goes, in order, into a file that the database takes over as it is: nothing passes through RocksDB's own log and memory.
/// Outcomes stand in a file of their own: their keys begin with a time, so that these files lie side by side and are hardly ever rewritten.
struct Drain {
  private let log: RedoLog
  private let access: DatabaseAccess
  private let folder: String
  private let options: RocksOptions

  /// A drain that makes its files in `folder`, which is on the database's file system.
  init(of log: RedoLog, into access: DatabaseAccess, folder: String, options: RocksOptions) {
    self.log = log
    self.access = access
    self.folder = folder
    self.options = options
  }

  /// Until the log is closed, brings sealed segments into the database and removes expired outcomes; repeats what fails.
  func run() {
    var expired = Int64.min
    while !log.isEnding {
      try? log.prepare()
      do throws(StoreError) {
        let segment: Segment
        switch log.nextWork(within: 10_000) {
        case .drain(let sealed): segment = sealed
        case .writeAhead:
          log.writeAhead()
          continue
        case nil:
          log.rest()
          continue
        }
        try access.reading { (database) throws(StoreError) in
          try bring(segment, into: database)
          log.drained(segment)
          let cutoff = options.expiry.cutoff.load(ordering: .relaxed)
          if cutoff > expired {
            expired = cutoff
            try database.deleteFiles(
              from: StoreKey.prefix(.outcome), to: StoreKey.outcomes(expiringAt: cutoff))
          }
        }
      } catch {
        log.drainFailed(error)
        log.pause(milliseconds: 1_000)
      }
    }
  }

  /// Brings a segment's writes into `database`; may be repeated after an error.
  private func bring(_ segment: Segment, into database: RocksDatabase) throws(StoreError) {
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
    var files: [String] = []
    for (name, offsets) in [("a", below), ("d", outcomes), ("r", above)] where !offsets.isEmpty {
      let path = "\(folder)/\(segment.number)\(name).sst"
      try write(SortedWrites.sort(offsets, in: segment.base), of: segment, to: path)
      files.append(path)
    }
    try database.ingest(files)
    for file in files { unlink(file) }
  }

  /// How many bytes are written before the system is asked to bring them to the disk: a burst of them would hold up the commits' syncs.
  private static let dirtyBytes = 1 << 20

  /// How many writes ahead of the one at hand are brought nearer; in the order of their keys they lie anywhere in the segment.
  private static let ahead = 8
  /// How many lines of the processor's cache of each, which is about what a record and an outcome take.
  private static let linesAhead = 6

  private func write(_ offsets: [UInt32], of segment: Segment, to path: String) throws(StoreError) {
    let message = "the file \(path) can't be written"
    let environment = rocksdb_envoptions_create()
    defer { rocksdb_envoptions_destroy(environment) }
    let writer = rocksdb_sstfilewriter_create(environment, options.options)
    defer { rocksdb_sstfilewriter_destroy(writer) }
    try StoreError.check(message) { rocksdb_sstfilewriter_open(writer, path, $0) }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    var unsynced = 0
    for (place, offset) in offsets.enumerated() {
      let base = segment.base
      if place + Self.ahead < offsets.count {
        let next = base + Int(offsets[place + Self.ahead])
        for line in 0..<Self.linesAhead { cl_prefetch(next + 64 * line) }
      }
      let (key, value) = SegmentWrite.entry(at: Int(offset), in: base)
      try StoreError.check(message) { error in
        if let value {
          rocksdb_sstfilewriter_put(
            writer, RocksDatabase.characters(key), key.count, RocksDatabase.characters(value), value.count, error)
        } else {
          rocksdb_sstfilewriter_delete(writer, RocksDatabase.characters(key), key.count, error)
        }
      }
      unsynced += key.count + (value?.count ?? 0)
      if unsynced > Self.dirtyBytes {
        cl_begin_sync(descriptor, 0, 0)
        unsynced = 0
      }
    }
    try StoreError.check(message) { rocksdb_sstfilewriter_finish(writer, $0) }
  }
}
