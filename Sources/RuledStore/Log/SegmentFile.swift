import RuledCore

/// A file of the redo log, written from front to back.
///
/// It gets its whole length when it is made: a sync then has only data to write, and a full disk shows before anything is written.
final class SegmentFile: @unchecked Sendable {  // guarded by `LogTail`, before that by `SegmentMaker`
  private let file: any StoreFile
  private var written = 0
  private var writtenBack = 0
  /// How far zeros were written, from the second block on.
  private var zeroed = LogFrame.block

  /// The bytes written between two requests to the kernel to begin writing them to the disk.
  private static let dirtyBytes = 1 << 20
  /// The zeros of one write: the page cache keeps them in one folio, and a write to any part makes the whole folio dirty.
  private static let zerosAtOnce = 1 << 16

  /// Makes the file `path` of `length` bytes.
  ///
  /// `recycled` is a file of that length to use instead: a sync of overwritten bytes has no metadata to write. The file's new name is durable before anything
  /// else is written to it, so that no name ever holds the header of a later file.
  init(creating path: String, length: Int, recycled: String?, _ files: any FileSystem) throws(StoreError) {
    if let recycled {
      try files.rename(recycled, to: path)
      try files.syncFolder(path.parentFolder)
      file = try files.open(path, .update)
      return
    }
    file = try files.open(path, .create)
    if !file.reserve(length) { try file.resize(to: length) }
    try files.syncFolder(path.parentFolder)
  }

  var path: String { file.path }

  func write(_ bytes: ByteView, at offset: Int) throws(StoreError) {
    try file.write(bytes, at: offset)
    written = offset + bytes.count
  }

  /// Whether the file may hold `bytes` at `offset` after a write of them failed: older bytes there can equal the unwritten part.
  func mayContain(_ bytes: ByteView, at offset: Int) -> Bool {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    defer { room.deallocate() }
    do throws(StoreError) { try file.read(into: room, at: offset) } catch { return true }
    return ByteOrder.equal(ByteView(room), bytes)
  }

  /// Writes zeros to the next part of a file without commits, up to `capacity`; true when that was the last part.
  ///
  /// The file system marks reserved blocks as unwritten. A sync of writes to them has these marks to write too, and takes about twice as long.
  /// The zeros stay in the page cache, so that a write of a part of a block need not read the rest.
  func writeZeros(to capacity: Int) throws(StoreError) -> Bool {
    let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.zerosAtOnce, alignment: LogFrame.block)
    defer { zeros.deallocate() }
    zeros.initializeMemory(as: UInt8.self, repeating: 0)
    let begin = zeroed
    while zeroed < min(begin + Self.dirtyBytes, capacity) {
      let count = min(zeros.count, capacity - zeroed)
      try file.write(ByteView(zeros).extracting(..<count), at: zeroed)
      zeroed += count
    }
    file.beginWriteback(at: begin, count: zeroed - begin)
    guard zeroed == capacity else { return false }
    try sync()
    return true
  }

  /// Asks the kernel to begin writing to the disk, once `dirtyBytes` have gathered, so that a later sync has little to wait for.
  func beginWriteback() {
    guard written - writtenBack >= Self.dirtyBytes else { return }
    file.beginWriteback(at: writtenBack, count: written - writtenBack)
    writtenBack = written
  }

  func sync() throws(StoreError) { try file.sync() }
}
