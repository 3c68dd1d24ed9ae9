import Glibc
package import RuledCore

/// A folder of backups: each is a folder named by its time, with a store's files and `BACKUP`, the list of them; the link `latest` leads to the last one.
///
/// A backup is written beside the others and gets its name when all of it is on the disk, so that a backup with a name is complete. Files that did not change
/// since the backup before, which RocksDB's never do, are further names of the same file; that is why nothing in a backup may be written to.
package final class BackupFolder {
  package struct Summary: Sendable {
    package let path: String
    package let files: Int
    package let bytes: Int
    /// The bytes shared with the backup before, or with the store.
    package let sharedBytes: Int
  }

  let path: String
  private let use: FolderUse

  /// The list of a backup's files.
  static let list = "BACKUP"
  private static let latest = "latest"
  private static let unfinished = ".unfinished"

  /// Takes the folder, which is made if there is none; throws `in_use` when another backup is written there.
  package init(_ path: String) throws(StoreError) {
    self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    try Folder.create(self.path)
    guard let use = try FolderUse(self.path, alone: true) else {
      throw StoreError(.inUse, "another backup is being written to \(path); wait for it")
    }
    self.use = use
  }

  /// Makes a backup of the store's files in `checkpoint`, which do not change; `progress` gets the bytes that are done and all bytes.
  ///
  /// The checkpoint is in the store's folder, which can't have its own backup.
  package func add(
    _ checkpoint: String, at time: Timestamp, progress: (_ done: Int, _ all: Int) -> Void
  ) throws(StoreError) -> Summary {
    let store = checkpoint.parentFolder
    guard let real = path.realPath, !"\(real)/".hasPrefix("\(store)/") else {
      throw StoreError(
        .refused, "\(path) is in the store's own folder \(store), and would be lost with it: name another folder")
    }
    for name in try Folder.names(path) where name.hasSuffix(Self.unfinished) {
      try BackupFiles.remove("\(path)/\(name)")
    }
    let name = time.rfc3339.filter { $0 != "-" && $0 != ":" }
    let target = "\(path)/\(name)"
    let new = target + Self.unfinished
    let previous = try Self.backups(in: path).last.map { "\(path)/\($0)" }
    let files = try BackupFiles.list(checkpoint)
    let all = files.reduce(0) { $0 + $1.bytes }
    let shared = try BackupFiles.writeFiles(files.map(\.name), to: new) { () throws(StoreError) in
      var (done, shared) = (0, 0)
      for file in files {
        if try put(file, from: checkpoint, previous, in: new) { shared += file.bytes }
        done += file.bytes
        progress(done, all)
      }
      try writeList(of: files, to: new)
      return shared
    }
    guard rename(new, target) == 0 else { throw StoreError.system("the backup \(new) can't be named \(name)", errno) }
    try Folder.sync(path)
    try pointLatest(to: name)
    return Summary(path: target, files: files.count, bytes: all, sharedBytes: shared)
  }

  /// Makes a file part of the backup; true if no bytes were copied.
  private func put(
    _ file: BackupFiles.Entry, from checkpoint: String, _ previous: String?, in new: String
  ) throws(StoreError) -> Bool {
    let target = "\(new)/\(file.name)"
    if let previous, BackupFiles.entry(file.name, in: previous) == file,
      BackupFiles.link("\(previous)/\(file.name)", to: target)
    {
      return true
    }
    if BackupFiles.link("\(checkpoint)/\(file.name)", to: target) { return true }
    try BackupFiles.copy("\(checkpoint)/\(file.name)", to: target)
    return false
  }

  private func writeList(of files: [BackupFiles.Entry], to new: String) throws(StoreError) {
    let text = BackupList(files: files.map { ($0.name, $0.bytes) }).text
    try text.withView { (text) throws(StoreError) in try SystemFiles().create("\(new)/\(Self.list)", with: text) }
  }

  /// Where the file system has no links, the backup with the last name is the latest.
  private func pointLatest(to name: String) throws(StoreError) {
    let new = "\(path)/\(Self.latest)\(Self.unfinished)"
    guard symlink(name, new) == 0 else { return }
    guard rename(new, "\(path)/\(Self.latest)") == 0 else {
      throw StoreError.system("the link \(path)/\(Self.latest) can't be set", errno)
    }
    try Folder.sync(path)
  }

  /// Keeps the last `count` backups; returns the names of the removed ones.
  package func keep(_ count: Int) throws(StoreError) -> [String] {
    let old = Array(try Self.backups(in: path).dropLast(count))
    for name in old {
      // without its name it is no backup, whatever happens while its files are removed
      let gone = "\(path)/\(name)\(Self.unfinished)"
      guard rename("\(path)/\(name)", gone) == 0 else {
        throw StoreError.system("the backup \(path)/\(name) can't be removed", errno)
      }
      try BackupFiles.remove(gone)
    }
    return old
  }

  // MARK: Finding

  /// The names of the backups in a folder, the earliest first.
  static func backups(in path: String) throws(StoreError) -> [String] {
    try Folder.names(path).filter { name in
      name.first?.isNumber == true && !name.hasSuffix(unfinished) && access("\(path)/\(name)/\(list)", F_OK) == 0
    }.sorted()
  }

  /// The backup that a path means: the folder of one, or the latest in a folder of backups.
  static func find(_ path: String) throws(StoreError) -> String {
    if access("\(path)/\(list)", F_OK) == 0 { return path }
    if access("\(path)/\(latest)/\(list)", F_OK) == 0 { return "\(path)/\(latest)" }
    guard let last = try backups(in: path).last else {
      throw StoreError(.refused, "there is no backup in \(path): 'rulectl backup \(path)' makes one")
    }
    return "\(path)/\(last)"
  }
}
