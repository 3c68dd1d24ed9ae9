import CLinux
import Glibc
internal import RuledCore

package struct SystemFiles: FileSystem {
  package init() {}

  package func open(_ path: String, _ mode: FileMode) throws(StoreError) -> any StoreFile {
    let flags =
      switch mode {
      case .read: O_RDONLY
      case .update: O_RDWR
      case .create: O_RDWR | O_CREAT | O_TRUNC
      }
    let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError.system("the file \(path) can't be opened", errno) }
    return SystemFile(path: path, descriptor: descriptor)
  }

  package func rename(_ path: String, to target: String) throws(StoreError) {
    guard Glibc.rename(path, target) == 0 else {
      throw StoreError.system("the file \(path) can't be renamed to \(target)", errno)
    }
  }

  package func remove(_ path: String) throws(StoreError) {
    guard unlink(path) == 0 || errno == ENOENT else {
      throw StoreError.system("the file \(path) can't be removed", errno)
    }
  }

  package func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  package func names(in folder: String) throws(StoreError) -> [String] { try Folder.names(folder) }

  package func createFolder(_ path: String) throws(StoreError) { try Folder.create(path) }

  package func syncFolder(_ path: String) throws(StoreError) { try Folder.sync(path) }
}

private final class SystemFile: StoreFile {
  let path: String
  private let descriptor: Int32
  /// Whether the file had a name when it was opened, as far as the file system tells.
  private let hadName: Bool

  init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
    hadName = cl_links(descriptor) > 0
  }

  deinit { close(descriptor) }

  func size() throws(StoreError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw StoreError.system("the file \(path) can't be read", errno) }
    return Int(status.st_size)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
    try transfer(buffer.count, "read", atEnd: EIO) { done in
      pread(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset + done))
    }
  }

  func write(_ bytes: ByteView, at offset: Int) throws(StoreError) {
    try transfer(bytes.count, "written", atEnd: ENOSPC) { done in
      pwrite(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
    }
  }

  /// Repeats a call until `total` bytes are done; the call gets the number that are.
  ///
  /// A call that moves no bytes fails with `end`.
  private func transfer(
    _ total: Int, _ participle: String, atEnd end: Int32, _ call: (_ done: Int) -> Int
  ) throws(StoreError) {
    let done = moveWhole(total, call)
    guard done == total else {
      throw StoreError.system("the file \(path) can't be \(participle)", done == nil ? errno : end)
    }
  }

  func sync() throws(StoreError) {
    guard fdatasync(descriptor) == 0 else { throw StoreError.system("the file \(path) can't be synced", errno) }
    // The bytes of a file without a name are on the disk, but no start finds them again.
    guard hadName, cl_links(descriptor) == 0 else { return }
    throw StoreError(
      .removed, "the file \(path) was removed while the daemon ran: end it, and restore the store from a backup")
  }

  func resize(to bytes: Int) throws(StoreError) {
    guard ftruncate(descriptor, off_t(bytes)) == 0 else {
      throw StoreError.system("the file \(path) can't be given \(bytes) bytes", errno)
    }
  }

  func reserve(_ bytes: Int) -> Bool { cl_allocate(descriptor, Int64(bytes)) == 0 }

  func beginWriteback(at offset: Int, count: Int) { cl_begin_sync(descriptor, Int64(offset), Int64(count)) }
}
