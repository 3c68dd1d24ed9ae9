import Glibc
package import RuledCore
package import RuledIO

/// A file of JSON lines to which effects are appended; another program may rename it at any time.
package final class SinkFile {
  private let path: String
  private var descriptor: Int32 = -1
  private var device: UInt64 = 0
  private var inode: UInt64 = 0

  init(path: String) { self.path = path }

  deinit { close() }

  /// Closes the file; the next `append` opens it again.
  package func close() {
    if descriptor >= 0 { SystemCalls.close(descriptor) }
    descriptor = -1
  }

  /// Appends whole lines and syncs them; after an error the file contains none of them.
  package func append(_ lines: ByteBuffer) throws(SystemError) {
    try open()
    let end = try size()
    var written = 0
    do throws(SystemError) {
      while written < lines.count {
        let remaining = lines.bytes.extracting(written...)
        written += try SystemCalls.check("write", path) { write(descriptor, remaining.baseAddress, remaining.count) }
      }
      try sync()
    } catch {
      if written > 0 { _ = ftruncate(descriptor, end) }
      close()
      throw error
    }
  }

  /// Opens the file, unless the open one still has its name.
  private func open() throws(SystemError) {
    var status = stat()
    if descriptor >= 0 {
      if stat(path, &status) == 0, status.st_dev == device, status.st_ino == inode { return }
      close()
    }
    let isNew = access(path, F_OK) != 0
    descriptor = try SystemCalls.check("open", path) {
      Glibc.open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
    }
    do throws(SystemError) {
      try SystemCalls.check("fstat", path) { fstat(descriptor, &status) }
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
      if isNew { try syncFolder() }
      try endTornLine(status.st_size)
    } catch {
      close()
      throw error
    }
  }

  /// Ends the last line if a crash has left it without its end.
  private func endTornLine(_ size: off_t) throws(SystemError) {
    var last: UInt8 = 0
    guard size > 0, pread(descriptor, &last, 1, size - 1) == 1, last != UInt8(ascii: "\n") else { return }
    var end = UInt8(ascii: "\n")
    try SystemCalls.check("write", path) { write(descriptor, &end, 1) }
  }

  private func size() throws(SystemError) -> off_t {
    var status = stat()
    try SystemCalls.check("fstat", path) { fstat(descriptor, &status) }
    return status.st_size
  }

  /// Syncs the file; a file that can't be synced, such as a pipe, needs no sync.
  private func sync() throws(SystemError) {
    let (_, number) = SystemCalls.retrying { fdatasync(descriptor) }
    guard number != 0, number != EINVAL, number != EROFS else { return }
    throw SystemError(number, call: "fdatasync", context: path)
  }

  /// Makes the name of the new file durable.
  private func syncFolder() throws(SystemError) {
    let folder = path.parentFolder
    let opened = try SystemCalls.check("open", folder) { Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    defer { SystemCalls.close(opened) }
    try SystemCalls.check("fsync", folder) { fsync(opened) }
  }
}
