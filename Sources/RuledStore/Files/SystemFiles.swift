import CLinux
import Glibc

/// The operating system's files.
package struct SystemFiles: FileSystem {
  /// The files of this machine.
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

  package func names(in folder: String) throws(StoreError) -> [String] {
    try Folder.names(folder).filter { $0 != "." && $0 != ".." }
  }

  package func createFolder(_ path: String) throws(StoreError) { try Folder.create(path) }

  package func syncFolder(_ path: String) throws(StoreError) { try Folder.sync(path) }
}

/// An open file of the operating system.
private final class SystemFile: StoreFile {
  let path: String
  private let descriptor: Int32

  init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  func size() throws(StoreError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw StoreError.system("the file \(path) can't be read", errno) }
    return Int(status.st_size)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(StoreError) {
    var done = 0
    while done < buffer.count {
      let count = pread(descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset + done))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw StoreError.system("the file \(path) can't be read", count < 0 ? errno : EIO) }
      done += count
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      let count = pwrite(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset + done))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw StoreError.system("the file \(path) can't be written", count < 0 ? errno : ENOSPC) }
      done += count
    }
  }

  func sync() throws(StoreError) {
    guard fdatasync(descriptor) == 0 else { throw StoreError.system("the file \(path) can't be synced", errno) }
  }

  func resize(to bytes: Int) throws(StoreError) {
    guard ftruncate(descriptor, off_t(bytes)) == 0 else {
      throw StoreError.system("the file \(path) can't be given \(bytes) bytes", errno)
    }
  }

  func reserve(_ bytes: Int) -> Bool { cl_allocate(descriptor, Int64(bytes)) == 0 }

  func beginWriteback(at offset: Int, count: Int) { cl_begin_sync(descriptor, Int64(offset), Int64(count)) }
}
