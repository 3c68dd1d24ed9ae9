import CLinux
import Glibc

/// A file of the redo log, written from front to back.
///
/// Room for the whole file is asked for at once: a sync then has only data to write, and a full disk shows before anything is written.
final class SegmentFile: @unchecked Sendable {  // written under the lock on the log's end
  /// Where the file lies.
  let path: String
  private let descriptor: Int32
  private var written = 0
  private var handedOn = 0
  /// How far zeros were written, from the second block on.
  private var zeroed = LogFrame.block

  /// How many bytes may be written before the system is asked to begin with bringing them to the disk.
  private static let dirtyBytes = 1 << 20
  /// How many zeros are written at once: the system keeps them together in its cache, and counts all of them as changed by a write to any.
  private static let atOnce = 1 << 16

  /// Makes the file `path`, with room for `capacity` bytes where the file system can give it.
  ///
  /// `recycled` is a file that is no longer needed and takes its place: a sync of what is written over has no metadata to write.
  convenience init(creating path: String, capacity: Int, recycled: String? = nil) throws(StoreError) {
    if let recycled, rename(recycled, path) == 0 {
      try self.init(opening: path)
      return
    }
    try self.init(opening: path, flags: O_CREAT | O_TRUNC)
    if cl_allocate(descriptor, Int64(capacity)) != 0 { _ = ftruncate(descriptor, 0) }
  }

  /// Opens the file `path` to write in it.
  init(opening path: String, flags: Int32 = 0) throws(StoreError) {
    self.path = path
    descriptor = open(path, O_RDWR | O_CLOEXEC | flags, 0o600)
    guard descriptor >= 0 else { throw StoreError.system("the log \(path) can't be opened", errno) }
  }

  deinit { close(descriptor) }

  /// Writes bytes at `offset`, in the system's hands when this returns.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreError) {
    try put(bytes, at: offset)
    written = offset + bytes.count
  }

  private func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw StoreError.system("the log \(path) can't be written", count < 0 ? errno : ENOSPC) }
      done += count
    }
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
      try put(UnsafeRawBufferPointer(rebasing: zeros[..<count]), at: zeroed)
      zeroed += count
    }
    cl_begin_sync(descriptor, Int64(begin), Int64(zeroed - begin))
    guard zeroed == capacity else { return false }
    try sync()
    return true
  }

  /// Puts zeros at `offset`, as far as the system lets it, so that what was begun there does not look whole to a process that comes after a crash.
  func erase(_ count: Int, at offset: Int) {
    let zeros = [UInt8](repeating: 0, count: count)
    _ = zeros.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, count, off_t(offset)) }
  }

  /// Lets the system begin to bring to the disk what was written, so that a later sync has little to wait for.
  func handOn() {
    guard written - handedOn >= Self.dirtyBytes else { return }
    cl_begin_sync(descriptor, Int64(handedOn), Int64(written - handedOn))
    handedOn = written
  }

  /// Returns once all that was written is on the disk.
  func sync() throws(StoreError) {
    guard fdatasync(descriptor) == 0 else { throw StoreError.system("the log \(path) can't be synced", errno) }
  }

  /// Gives back the room behind `length` and makes the file's end durable.
  func finish(at length: Int) throws(StoreError) {
    guard ftruncate(descriptor, off_t(length)) == 0, fsync(descriptor) == 0 else {
      throw StoreError.system("the log \(path) can't be finished", errno)
    }
  }
}
