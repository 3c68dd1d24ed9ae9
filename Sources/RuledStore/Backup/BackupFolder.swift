import CLinux
import Glibc
package import RuledCore

/// A folder of backups: each is a folder named by its time, with a store's files and `BACKUP`, the list of them; the link `latest` leads to the last one.
///
/// A backup is written beside the others and gets its name when all of it is on the disk, so that a backup with a name is complete. Files that did not change
/// since the backup before, which RocksDB's never do, are further names of the same file; that is why nothing in a backup may be written to.
package final class BackupFolder {
  /// What a backup came to.
  package struct Summary: Sendable {
    /// The folder of the backup.
    package let path: String
    /// How many files it has.
    package let files: Int
    /// How many bytes they have.
    package let bytes: Int
    /// How many of the bytes were there before, in the backup before this one or in the store.
    package let sharedBytes: Int
  }

  package let path: String
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
  package func add(
    _ checkpoint: String, at time: Timestamp, progress: (_ done: Int, _ all: Int) -> Void
  ) throws(StoreError) -> Summary {
    for name in try Folder.names(path) where name.hasSuffix(Self.unfinished) {
      try BackupFiles.remove("\(path)/\(name)")
    }
    let name = time.rfc3339.filter { $0 != "-" && $0 != ":" }
    let target = "\(path)/\(name)"
    let new = target + Self.unfinished
    let previous = try Self.backups(in: path).last.map { "\(path)/\($0)" }
    let files = try BackupFiles.list(checkpoint)
    let all = files.reduce(0) { $0 + $1.bytes }
    let folders = BackupFiles.folders(of: files.map(\.name))
    for folder in folders { try Folder.create("\(new)/\(folder)") }
    var done = 0
    var shared = 0
    for file in files {
      if try put(file, from: checkpoint, previous, in: new) { shared += file.bytes }
      done += file.bytes
      progress(done, all)
    }
    try writeList(of: files, to: new)
    for folder in folders.map({ "\(new)/\($0)" }) + [new] { try Folder.sync(folder) }
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
    let file = try SystemFiles().open("\(new)/\(Self.list)", .create)
    let bytes = Array(text.utf8)
    var problem: StoreError?
    bytes.withView { bytes in
      do throws(StoreError) { try file.write(bytes, at: 0) } catch { problem = error }
    }
    if let problem { throw problem }
    try file.sync()
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

  /// Removes the earliest backups, so that `count` are left; gives the names of those that were removed.
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
  package static func backups(in path: String) throws(StoreError) -> [String] {
    try Folder.names(path).filter { name in
      name.first?.isNumber == true && !name.hasSuffix(unfinished) && access("\(path)/\(name)/\(list)", F_OK) == 0
    }.sorted()
  }

  /// The backup that a path means: the folder of one, or the latest in a folder of backups.
  package static func find(_ path: String) throws(StoreError) -> String {
    if access("\(path)/\(list)", F_OK) == 0 { return path }
    if access("\(path)/\(latest)/\(list)", F_OK) == 0 { return "\(path)/\(latest)" }
    guard let last = try backups(in: path).last else {
      throw StoreError(.refused, "there is no backup in \(path): 'rulectl backup \(path)' makes one")
    }
    return "\(path)/\(last)"
  }
}

/// The list of a backup's files: a first line that says what it is, then a line with size and name for each.
struct BackupList {
  var files: [(name: String, bytes: Int)]

  private static let title = "backup of a store of ruled, 1"

  /// The list as it stands in the file.
  var text: String { ([Self.title] + files.map { "\($0.bytes) \($0.name)" }).map { $0 + "\n" }.joined() }

  init(files: [(name: String, bytes: Int)]) { self.files = files }

  /// The list of the backup in `folder`.
  init(of folder: String) throws(StoreError) {
    let path = "\(folder)/\(BackupFolder.list)"
    let file = try SystemFiles().open(path, .read)
    var bytes = [UInt8](repeating: 0, count: try file.size())
    var problem: StoreError?
    bytes.withUnsafeMutableBytes { room in
      do throws(StoreError) { try file.read(into: room, at: 0) } catch { problem = error }
    }
    if let problem { throw problem }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    guard lines.first == Self.title[...] else {
      throw StoreError(.refused, "\(path) is not a list that this version of ruled writes; use another backup")
    }
    files = []
    for line in lines.dropFirst() {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let bytes = Int(parts[0]), !parts[1].contains("..") else {
        throw StoreError(.corrupt, "\(path) is damaged: use another backup", underlying: String(line))
      }
      files.append((String(parts[1]), bytes))
    }
  }
}

/// Calls on the files of backups.
enum BackupFiles {
  /// A file below a folder.
  struct Entry: Equatable {
    /// Its path from the folder on.
    var name: String
    /// How many bytes it has.
    var bytes: Int
    /// When it was written, in nanoseconds since 1970.
    var written: Int64
  }

  /// The files below `folder`, in order of name.
  static func list(_ folder: String) throws(StoreError) -> [Entry] {
    var entries: [Entry] = []
    try list(folder, prefix: "", into: &entries)
    return entries.sorted { $0.name < $1.name }
  }

  private static func list(_ folder: String, prefix: String, into entries: inout [Entry]) throws(StoreError) {
    for name in try Folder.names(folder) where name != "." && name != ".." {
      let path = "\(folder)/\(name)"
      let status = try status(of: path)
      switch status.st_mode & S_IFMT {
      case S_IFDIR: try list(path, prefix: "\(prefix)\(name)/", into: &entries)
      case S_IFREG: entries.append(entry(prefix + name, status))
      default: throw StoreError(.refused, "\(path) is neither a file nor a folder, so it is no part of a store")
      }
    }
  }

  /// The folders that files are in, the log's in any case, by the files' names below one folder.
  static func folders(of names: [String]) -> [String] {
    Set(names.compactMap { name in name.lastIndex(of: "/").map { String(name[..<$0]) } } + ["log"]).sorted()
  }

  /// Makes the folders below `target` that files of these names are in, calls `body`, which writes the files, and makes the folders durable.
  static func writeFiles<Result>(
    _ names: [String], to target: String, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let folders = folders(of: names).map { "\(target)/\($0)" }
    for folder in folders { try Folder.create(folder) }
    let result = try body()
    for folder in folders + [target] { try Folder.sync(folder) }
    return result
  }

  /// The file of that name below `folder`; nil when there is none.
  static func entry(_ name: String, in folder: String) -> Entry? {
    guard let status = try? status(of: "\(folder)/\(name)"), status.st_mode & S_IFMT == S_IFREG else { return nil }
    return entry(name, status)
  }

  private static func entry(_ name: String, _ status: stat) -> Entry {
    let seconds = Int64(status.st_mtim.tv_sec)
    return Entry(
      name: name, bytes: Int(status.st_size), written: seconds * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
  }

  /// What lstat(2) says about a path.
  static func status(of path: String) throws(StoreError) -> stat {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw StoreError.system("\(path) can't be read", errno) }
    return status
  }

  /// Gives a file a second name; false where that is not possible, as between file systems.
  static func link(_ path: String, to target: String) -> Bool { Glibc.link(path, target) == 0 }

  /// Copies a file to a new one, durably, with the time at which it was written.
  static func copy(_ path: String, to target: String) throws(StoreError) {
    let source = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard source >= 0 else { throw StoreError.system("the file \(path) can't be opened", errno) }
    defer { close(source) }
    let copy = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard copy >= 0 else { throw StoreError.system("the file \(target) can't be made", errno) }
    defer { close(copy) }
    var status = stat()
    guard fstat(source, &status) == 0 else { throw StoreError.system("the file \(path) can't be read", errno) }
    var offset: Int64 = 0
    while true {
      let count = cl_copy(source, copy, 8 << 20)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw StoreError.system("the file \(path) can't be copied to \(target)", errno) }
      if count == 0 { break }
      cl_begin_sync(copy, offset, count)
      offset += count
    }
    let times = [status.st_mtim, status.st_mtim]
    guard futimens(copy, times) == 0, fsync(copy) == 0 else {
      throw StoreError.system("the file \(target) can't be written", errno)
    }
  }

  /// Removes a file, or a folder with all that is in it; does not follow links.
  static func remove(_ path: String) throws(StoreError) {
    guard unlink(path) != 0, errno != ENOENT else { return }
    guard let status = try? status(of: path), status.st_mode & S_IFMT == S_IFDIR else {
      throw StoreError.system("\(path) can't be removed", errno)
    }
    for name in try Folder.names(path) where name != "." && name != ".." { try remove("\(path)/\(name)") }
    guard rmdir(path) == 0 else { throw StoreError.system("the folder \(path) can't be removed", errno) }
  }
}

/// Says that a folder is in use, until it is released or the process ends: flock(2).
package final class FolderUse {
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
