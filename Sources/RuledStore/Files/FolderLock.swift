import Glibc
import RuledCore

/// Keeps a second store out of a folder, with a message that names the process that has it open.
///
/// The error of RocksDB's own lock names neither the holder nor what to do. This one is an `flock`: it ends with the process however that ends, and also
/// excludes a second store in the same process.
final class FolderLock: Sendable {
  static let name = "ruled.lock"

  private let descriptor: Int32

  /// Takes the lock of the folder, which must exist; throws `in_use` when another holds it.
  init(folder: String) throws(StoreError) {
    let path = "\(folder)/\(Self.name)"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError.system("the store at \(folder) can't be opened", errno) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let reason = errno
      let holder = Self.holder(descriptor)
      Glibc.close(descriptor)
      guard reason == EWOULDBLOCK else { throw StoreError.system("the store at \(folder) can't be locked", reason) }
      throw StoreError(
        .inUse, "\(folder) is in use by another ruled (pid \(holder)); stop that one or give this one another store")
    }
    self.descriptor = descriptor
    let text = "\(getpid())\n"
    let written = text.utf8CString.withUnsafeBytes { bytes -> Int in
      ftruncate(descriptor, 0) == 0 ? pwrite(descriptor, bytes.baseAddress, bytes.count - 1, 0) : -1
    }
    guard written > 0 else {
      let reason = errno
      Glibc.close(descriptor)
      throw StoreError.system("the store at \(folder) can't be locked", reason)
    }
  }

  deinit { Glibc.close(descriptor) }

  private static func holder(_ descriptor: Int32) -> String {
    withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { room in
      let length = pread(descriptor, room.baseAddress, room.count, 0)
      let digits = room.prefix(max(length, 0)).prefix(while: \.isDigit)
      return digits.isEmpty ? "unknown" : digits.text
    }
  }
}
