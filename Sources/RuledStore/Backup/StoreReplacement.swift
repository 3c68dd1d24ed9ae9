import Glibc

/// Puts another store in the place of the one in a folder; folders beside the store's own stay, unless `commit` is to remove them.
///
/// The new store is written to a folder within. A rename decides: before it, the old store is there, and after it the new one, once the next opening has moved
/// its files. So whatever is killed when, no mixture of the two is opened.
package struct StoreReplacement {
  /// Where the new store is written.
  package let folder: String
  private let path: String

  private static let unfinished = "replacement.unfinished"
  /// A folder of this name is complete, and the old store is to be removed.
  private static let complete = "replacement"
  /// A folder of this name is complete, and the old store is gone.
  private static let alone = "replacement.alone"

  /// A replacement of the store in the folder `path`, of which nothing is written yet; no store may be open there until `commit` has returned.
  package init(of path: String) throws(StoreError) {
    self.path = path
    folder = "\(path)/\(Self.unfinished)"
    try BackupFiles.remove(folder)
    try Folder.create(folder)
  }

  /// Replaces the store with the new one, which must be durable; first removes the folders of these names beside the store.
  package func commit(removing folders: [String] = []) throws(StoreError) {
    for name in folders { try BackupFiles.remove("\(path)/\(name)") }
    try BackupFiles.remove("\(folder)/\(FolderLock.name)")  // the lock belongs to the process, not to the store
    try Self.rename(Self.unfinished, to: Self.complete, in: path)
    try Self.finish(in: path)
  }

  /// Removes the new store; the old one stays.
  package func discard() { try? BackupFiles.remove(folder) }

  /// Finishes a replacement that was decided before a crash, and removes one that was not.
  static func finish(in path: String) throws(StoreError) {
    let names = [unfinished, complete, alone].filter { access("\(path)/\($0)", F_OK) == 0 }
    guard !names.isEmpty else { return }
    let lock = try FolderLock(folder: path)
    defer { withExtendedLifetime(lock) {} }
    try BackupFiles.remove("\(path)/\(unfinished)")
    if access("\(path)/\(complete)", F_OK) == 0 {
      for name in try Folder.names(path) where try isOfStore(name, in: path) {
        try BackupFiles.remove("\(path)/\(name)")
      }
      try Folder.sync(path)
      try rename(complete, to: alone, in: path)
    }
    guard access("\(path)/\(alone)", F_OK) == 0 else { return }
    for name in try Folder.names("\(path)/\(alone)") {
      guard Glibc.rename("\(path)/\(alone)/\(name)", "\(path)/\(name)") == 0 else {
        throw StoreError.system("the file \(path)/\(alone)/\(name) can't be renamed", errno)
      }
    }
    try Folder.sync(path)
    try BackupFiles.remove("\(path)/\(alone)")
    try Folder.sync(path)
  }

  /// Whether a name in the store's folder belongs to the store itself: its files, but the lock, and the folder of its log.
  private static func isOfStore(_ name: String, in path: String) throws(StoreError) -> Bool {
    guard name != FolderLock.name else { return false }
    if name == "log" { return true }
    return try BackupFiles.status(of: "\(path)/\(name)").st_mode & S_IFMT == S_IFREG
  }

  private static func rename(_ name: String, to other: String, in path: String) throws(StoreError) {
    guard Glibc.rename("\(path)/\(name)", "\(path)/\(other)") == 0 else {
      throw StoreError.system("the folder \(path)/\(name) can't be renamed", errno)
    }
    try Folder.sync(path)
  }
}
