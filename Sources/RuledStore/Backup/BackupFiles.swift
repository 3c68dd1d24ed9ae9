import CLinux
import Glibc

enum BackupFiles {
  /// A file below a folder.
  struct Entry: Equatable {
    /// Its path from the folder on.
    var name: String
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
    for name in try Folder.names(folder) {
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

  static func entry(_ name: String, in folder: String) -> Entry? {
    guard let status = try? status(of: "\(folder)/\(name)"), status.st_mode & S_IFMT == S_IFREG else { return nil }
    return entry(name, status)
  }

  private static func entry(_ name: String, _ status: stat) -> Entry {
    let seconds = Int64(status.st_mtim.tv_sec)
    return Entry(
      name: name, bytes: Int(status.st_size), written: seconds * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
  }

  /// Calls lstat(2).
  static func status(of path: String) throws(StoreError) -> stat {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw StoreError.system("\(path) can't be read", errno) }
    return status
  }

  /// Makes a hard link; false where there can be none, as between file systems.
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

  /// Removes a file, or a folder with its contents; does not follow links.
  static func remove(_ path: String) throws(StoreError) {
    guard unlink(path) != 0, errno != ENOENT else { return }
    guard let status = try? status(of: path), status.st_mode & S_IFMT == S_IFDIR else {
      throw StoreError.system("\(path) can't be removed", errno)
    }
    for name in try Folder.names(path) { try remove("\(path)/\(name)") }
    guard rmdir(path) == 0 else { throw StoreError.system("the folder \(path) can't be removed", errno) }
  }
}
