import Glibc
import RuledCore

/// A file of the redo log, written from front to back.
///
/// It is given its whole length at once: a sync then has only data to write, and a full disk shows before anything is written.
final class SegmentFile: @unchecked Sendable {  // written under the lock on the log's end
  private let file: any StoreFile
  private var written = 0
  private var handedOn = 0
  /// How far zeros were written, from the second block on.
  private var zeroed = LogFrame.block

  /// How many bytes may be written before the system is asked to begin with bringing them to the disk.
  private static let dirtyBytes = 1 << 20
  /// How many zeros are written at once: the system keeps them together in its cache, and counts all of them as changed by a write to any.
  private static let atOnce = 1 << 16

  /// Makes the file `path` of `length` bytes.
  ///
  /// `recycled` is a file of that length which is no longer needed and takes its place: a sync of what is written over has no metadata to write.
  /// Its name is durable before anything else is written to it, so that a name never holds the header of a later file.
  init(creating path: String, length: Int, recycled: String?, _ files: any FileSystem) throws(StoreError) {
    if let recycled {
      try files.rename(recycled, to: path)
      try files.syncFolder(SegmentFile.folder(of: path))
      file = try files.open(path, .update)
      return
    }
    file = try files.open(path, .create)
    if !file.reserve(length) { try file.resize(to: length) }
    try files.syncFolder(SegmentFile.folder(of: path))
  }

  private static func folder(of path: String) -> String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "." }

  /// Where the file lies.
  var path: String { file.path }

  /// Writes bytes at `offset`, in the system's hands when this returns.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreError) {
    try file.write(bytes, at: offset)
    written = offset + bytes.count
  }

  /// Whether bytes may stand at `offset` after a write of them failed: what was there before can be the same as what was not written.
  func mayHold(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    defer { room.deallocate() }
    do throws(StoreError) { try file.read(into: room, at: offset) } catch { return true }
    return ByteOrder.equal(UnsafeRawBufferPointer(room), bytes)
  }

  /// Writes zeros to the next part of a file that holds no commits yet, up to `capacity`; says whether that was the last.
  ///
  /// Room that was only asked for is marked by the file system as not written to, and each sync of what is written there would have these marks to write
  /// too: it takes about twice as long. The zeros stay in the system's cache, so that a write of a part of a block need not read the rest.
  func writeAhead(to capacity: Int) throws(StoreError) -> Bool {
    let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.atOnce, alignment: LogFrame.block)
    defer { zeros.deallocate() }
    zeros.initializeMemory(as: UInt8.self, repeating: 0)
    let begin = zeroed
    while zeroed < min(begin + Self.dirtyBytes, capacity) {
      let count = min(zeros.count, capacity - zeroed)
      try file.write(UnsafeRawBufferPointer(rebasing: zeros[..<count]), at: zeroed)
      zeroed += count
    }
    file.beginWriteback(at: begin, count: zeroed - begin)
    guard zeroed == capacity else { return false }
    try sync()
    return true
  }

  /// Lets the system begin to bring to the disk what was written, so that a later sync has little to wait for.
  func handOn() {
    guard written - handedOn >= Self.dirtyBytes else { return }
    file.beginWriteback(at: handedOn, count: written - handedOn)
    handedOn = written
  }

  /// Returns once all that was written is on the disk.
  func sync() throws(StoreError) { try file.sync() }
}
