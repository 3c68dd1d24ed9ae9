import RuledCore

/// The commits that the log held at one moment, to be written as the log of a copy of the store.
///
/// Nothing of them changes, so they are written while others commit.
struct LogCopy {
  /// The number of the last segment that the copied database has.
  let flushed: UInt64
  /// The segments with commits that the database does not have, the earliest first, and where the commits end in each.
  let segments: [(segment: Segment, end: Int)]

  /// A copy of the commits in `log`, beside a database that has the segments up to `flushed`.
  init(of log: SegmentList, flushed: UInt64) {
    self.flushed = flushed
    segments = log.committed.filter { $0.segment.number > flushed && $0.end > LogFrame.fileHeader }
  }

  /// The bytes written between two requests to the kernel to write them to the disk: a burst would delay the commits' syncs.
  private static let dirtyBytes = 1 << 20

  /// Writes the files of the log and its manifest to the store's folder `path`, durably.
  ///
  /// Each file's header says where the one before it ends, so that none needs a seal.
  func write(to path: String, _ files: any FileSystem) throws(StoreError) {
    let folder = path + "/log"
    try files.createFolder(folder)
    var predecessor = (number: flushed, end: 0)
    for (segment, end) in segments {
      let header = LogFrame.FileHeader(
        number: segment.number, predecessor: predecessor.number, predecessorEnd: predecessor.end, length: end)
      try write(segment, header, to: RedoLog.path(segment.number, in: folder), files)
      predecessor = (segment.number, end)
    }
    try files.syncFolder(folder)
    let last = predecessor.number
    try LogManifest.write(.init(flushed: flushed, last: last, next: last + 1), to: path, files)
  }

  private func write(
    _ segment: Segment, _ header: LogFrame.FileHeader, to path: String, _ files: any FileSystem
  ) throws(StoreError) {
    let file = try files.open(path, .create)
    let first = UnsafeMutableRawBufferPointer.allocate(byteCount: LogFrame.fileHeader, alignment: 8)
    defer { first.deallocate() }
    if let base = first.baseAddress { header.write(to: base) }
    try file.write(ByteView(first), at: 0)
    var offset = LogFrame.fileHeader
    while offset < header.length {
      let count = min(Self.dirtyBytes, header.length - offset)
      try file.write(ByteView(start: segment.base + offset, count: count), at: offset)
      file.beginWriteback(at: offset, count: count)
      offset += count
    }
    try file.sync()
  }
}
