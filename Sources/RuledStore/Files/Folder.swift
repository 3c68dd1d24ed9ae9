import Glibc
import RuledCore

package enum Folder {
  /// Makes the folder `path` and its parents, for their owner alone, where they don't exist yet; each new name is durable.
  package static func create(_ path: String) throws(StoreError) {
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    guard mkdir(path, 0o700) != 0 else { return try sync(path.parentFolder) }
    if errno == ENOENT, path.parentFolder != path, path.contains("/") {
      try create(path.parentFolder)
      if mkdir(path, 0o700) == 0 { return try sync(path.parentFolder) }
    }
    let reason = errno
    var status = stat()
    if reason == EEXIST, stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
    throw StoreError.system("the folder \(path) can't be made", reason)
  }

  /// The names in the folder `path`, in no order, without `.` and `..`.
  package static func names(_ path: String) throws(StoreError) -> [String] {
    guard let folder = opendir(path) else { throw StoreError.system("the folder \(path) can't be read", errno) }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// The bytes that the files below the folder `path` take on the disk, except those in its folder `other`.
  ///
  /// A file that can't be read, or is removed meanwhile, counts as nothing.
  static func diskBytes(_ path: String, without other: String = "") -> Int {
    guard let names = try? names(path) else { return 0 }
    var bytes = 0
    for name in names where name != other {
      var status = stat()
      guard lstat("\(path)/\(name)", &status) == 0 else { continue }
      bytes += Int(status.st_blocks) * 512
      if status.st_mode & S_IFMT == S_IFDIR { bytes += diskBytes("\(path)/\(name)") }
    }
    return bytes
  }

  /// Makes the names in the folder `path` durable.
  package static func sync(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreError.system("the folder \(path) can't be opened", errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw StoreError.system("the folder \(path) can't be synced", errno) }
  }
}
