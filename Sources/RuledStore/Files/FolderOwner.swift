import Glibc

/// Keeps a store's files with their owner.
///
/// An administrator may open a store as root while no daemon does. The daemon must be able to write the files that this leaves.
package enum FolderOwner {
  /// Calls `body`, which writes below the folder `path`, and then gives root's files there to the owner of the folder, also when `body` fails.
  package static func kept<Result>(
    of path: String, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let result: Result
    do throws(StoreError) { result = try body() } catch {
      // The caller needs to know the first failure.
      try? give(path)
      throw error
    }
    try give(path)
    return result
  }

  /// Gives root's files below a folder to the owner of the folder.
  private static func give(_ path: String) throws(StoreError) {
    guard geteuid() == 0 else { return }
    let owner = try BackupFiles.status(of: path)
    guard owner.st_uid != 0 else { return }
    try give(all: path, to: owner)
  }

  /// Follows no link, and leaves a file that has a second name elsewhere as it is: it may be none of the store's.
  private static func give(all folder: String, to owner: stat) throws(StoreError) {
    for name in try Folder.names(folder) {
      let path = "\(folder)/\(name)"
      let status = try BackupFiles.status(of: path)
      let isFolder = status.st_mode & S_IFMT == S_IFDIR
      if isFolder { try give(all: path, to: owner) }
      guard status.st_uid == 0, isFolder || status.st_nlink == 1 else { continue }
      guard lchown(path, owner.st_uid, owner.st_gid) == 0 else {
        throw StoreError.system("the owner of \(path) can't be changed", errno)
      }
    }
  }
}
