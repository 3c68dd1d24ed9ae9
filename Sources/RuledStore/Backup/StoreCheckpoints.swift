import Glibc
package import RuledCore

/// The checkpoints of a store in a folder: folders below its own, since only files of the same file system can be linked.
///
/// The copier of a checkpoint takes a `FolderUse` of it and removes it afterwards. A checkpoint without a user is abandoned.
package struct StoreCheckpoints {
  private let folder: String
  private static let prefix = "checkpoint-"

  package init(of path: String) { folder = path }

  /// Makes a checkpoint of the store, which is in this folder; gives its absolute path.
  ///
  /// `folders` are folders beside the store's own whose files it has too, as they are now; files there must not be changed in place.
  package func make(
    of store: any StateStore, at time: Timestamp, with folders: [String] = []
  ) throws(StoreError) -> String {
    guard let real = folder.realPath else {
      throw StoreError.system("the store at \(folder) can't be read", errno)
    }
    let path = "\(real)/\(Self.prefix)\(time.rfc3339.filter { $0 != "-" && $0 != ":" })"
    do throws(StoreError) {
      try store.checkpoint(to: path)
      for name in folders { try link(name, into: path) }
    } catch {
      try? BackupFiles.remove(path)
      throw error
    }
    return path
  }

  private func link(_ name: String, into path: String) throws(StoreError) {
    guard access("\(folder)/\(name)", F_OK) == 0 else { return }
    try Folder.create("\(path)/\(name)")
    for file in try Folder.names("\(folder)/\(name)") where !file.hasSuffix(".new") {
      let source = "\(folder)/\(name)/\(file)"
      if BackupFiles.link(source, to: "\(path)/\(name)/\(file)") || access(source, F_OK) != 0 { continue }
      try BackupFiles.copy(source, to: "\(path)/\(name)/\(file)")
    }
  }

  /// Removes abandoned checkpoints; false if one is in use.
  package func removeAbandoned() throws(StoreError) -> Bool {
    for name in try Folder.names(folder) where name.hasPrefix(Self.prefix) {
      let path = "\(folder)/\(name)"
      guard try FolderUse(path, alone: true) != nil else { return false }
      try BackupFiles.remove(path)
    }
    return true
  }
}

extension StoreCheckpoints {
  package static func remove(_ path: String) throws(StoreError) { try BackupFiles.remove(path) }
}
