internal import Glibc

enum FolderFiles {
  /// Whether a name is a dot file, or an editor's temporary file.
  static func isIgnored(_ name: String) -> Bool {
    name.hasPrefix(".") || name.hasSuffix("~") || name.hasSuffix(".swp") || name.hasSuffix(".tmp") || name == "4913"
      || (name.hasPrefix("#") && name.hasSuffix("#"))
  }

  /// The kind of a path, without following a link.
  enum Kind {
    case folder
    /// A symbolic link with its target.
    case link(String)
    /// Anything else that exists.
    case other
    case missing
  }

  /// The kind of `path`: lstat(2).
  static func kind(of path: String) -> Kind {
    var status = stat()
    guard lstat(path, &status) == 0 else { return .missing }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: return .folder
    case S_IFLNK: return target(of: path).map { .link($0) } ?? .missing
    default: return .other
    }
  }

  /// The folder that a path leads to, with links followed; nil when it leads to none: stat(2).
  static func folderIdentity(of path: String) -> Identity? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  /// A folder regardless of its name.
  struct Identity: Hashable {
    let device: UInt64
    let inode: UInt64
  }

  /// Calls `body` with the entries that may lead to more folders: folders, links, and entries whose type the file system does not give.
  ///
  /// Ignored names are left out.
  static func forEachBranch(of folder: String, _ body: (String) -> Void) {
    guard let stream = opendir(folder) else { return }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let type = Int32(entry.pointee.d_type)
      guard type == Int32(DT_DIR) || type == Int32(DT_LNK) || type == Int32(DT_UNKNOWN) else { continue }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { $0.prefix { $0 != 0 }.text }
      if !isIgnored(name) { body(name) }
    }
  }

  private static func target(of path: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      guard let start = buffer.baseAddress else { return nil }
      let length = readlink(path, start, buffer.count)
      guard length > 0 else { return nil }
      return UnsafeRawBufferPointer(buffer).prefix(length).text
    }
  }
}
