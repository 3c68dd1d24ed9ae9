import Glibc

/// Says that a folder is in use, until it is released or the process ends: flock(2).
package final class FolderUse: Sendable {
  private let descriptor: Int32

  /// Takes the folder for itself alone, or together with others; nil when another process has it.
  package init?(_ folder: String, alone: Bool) throws(StoreError) {
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError.system("the folder \(folder) can't be opened", errno) }
    if flock(descriptor, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 { return }
    let reason = errno
    guard reason == EWOULDBLOCK else {
      close(descriptor)
      throw StoreError.system("the folder \(folder) can't be locked", reason)
    }
    return nil
  }

  deinit { close(descriptor) }
}
