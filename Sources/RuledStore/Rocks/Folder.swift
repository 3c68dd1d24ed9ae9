import Glibc

/// Folders in the file system.
enum Folder {
  /// Makes the folder `path` and those that it lies in, for their owner alone, where they don't exist yet; each name that is new is durable.
  static func create(_ path: String) throws(StoreError) {
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    guard mkdir(path, 0o700) != 0 else { return try sync(parent(of: path)) }
    if errno == ENOENT, parent(of: path) != path, path.contains("/") {
      try create(parent(of: path))
      if mkdir(path, 0o700) == 0 { return try sync(parent(of: path)) }
    }
    let reason = errno
    var status = stat()
    if reason == EEXIST, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
    throw StoreError.system("the folder \(path) can't be made", reason)
  }

  /// The folder in which `path` lies.
  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The names in the folder `path`, in no order.
  static func names(_ path: String) throws(StoreError) -> [String] {
    guard let folder = opendir(path) else { throw StoreError.system("the folder \(path) can't be read", errno) }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      names.append(name)
    }
    return names
  }

  /// Makes durable which files the folder `path` has.
  static func sync(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError.system("the folder \(path) can't be opened", errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw StoreError.system("the folder \(path) can't be synced", errno) }
  }
}
