import Glibc
import RuledCore

/// Folders in the file system.
package enum Folder {
  /// Makes the folder `path` and its parents, for their owner alone, where they don't exist yet; each new name is durable.
  package static func create(_ path: String) throws(StoreError) {
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

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The names in the folder `path`, in no order.
  package static func names(_ path: String) throws(StoreError) -> [String] {
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

  /// How many bytes the files in the folder `path` and the folders in it take, but for one of its folders.
  ///
  /// A file that can't be read, or is removed meanwhile, counts as nothing.
  static func diskBytes(_ path: String, without other: String = "") -> Int {
    guard let names = try? names(path) else { return 0 }
    var bytes = 0
    for name in names where name != "." && name != ".." && name != other {
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

/// Keeps a second store out of a folder, with a message that names the process that has it open.
///
/// The error of RocksDB's own lock names neither the holder nor what to do. This one is an `flock`: it ends with the process however that ends, and also
/// excludes a second store in the same process.
final class FolderLock: Sendable {
  /// The lock's file in the folder.
  static let name = "ruled.lock"

  private let descriptor: Int32

  /// Takes the lock of the folder, which must exist; throws `in_use` when another holds it.
  init(folder: String) throws(StoreError) {
    let path = "\(folder)/\(Self.name)"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError.system("the store at \(folder) can't be opened", errno) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let reason = errno
      let holder = Self.holder(descriptor)
      Glibc.close(descriptor)
      guard reason == EWOULDBLOCK else { throw StoreError.system("the store at \(folder) can't be locked", reason) }
      throw StoreError(
        .inUse, "\(folder) is in use by another ruled (pid \(holder)); stop that one or give this one another store")
    }
    self.descriptor = descriptor
    let text = "\(getpid())\n"
    let written = text.utf8CString.withUnsafeBytes { bytes -> Int in
      ftruncate(descriptor, 0) == 0 ? pwrite(descriptor, bytes.baseAddress, bytes.count - 1, 0) : -1
    }
    guard written > 0 else {
      let reason = errno
      Glibc.close(descriptor)
      throw StoreError.system("the store at \(folder) can't be locked", reason)
    }
  }

  deinit { Glibc.close(descriptor) }

  private static func holder(_ descriptor: Int32) -> String {
    withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { room in
      let length = pread(descriptor, room.baseAddress, room.count, 0)
      let digits = room.prefix(max(length, 0)).prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
      return digits.isEmpty ? "unknown" : String(decoding: digits, as: UTF8.self)
    }
  }
}

/// Finds folders that belong to the running program: under the prefix that it is installed in, or in the source tree that it was built in.
package enum ProgramFolder {
  /// How many folders above the program are searched.
  private static let searched = 5

  /// The folder `installed`, such as `share/doc/ruled/docs`, or in a source tree `inSources`, that has a readable file `file`; nil if there is
  /// none.
  package static func find(installed: String, inSources: String, with file: String) -> String? {
    guard let resolved = realpath("/proc/self/exe", nil) else { return nil }
    defer { free(resolved) }
    var parts = String(cString: resolved).split(separator: "/").dropLast()
    for _ in 0..<searched {
      let isBuild = parts.last == ".build"
      parts = parts.dropLast()
      let root = parts.map { "/" + $0 }.joined()
      let candidates = ["\(root)/\(installed)"] + (isBuild ? ["\(root)/\(inSources)"] : [])
      if let found = candidates.first(where: { access("\($0)/\(file)", R_OK) == 0 }) { return found }
    }
    return nil
  }
}
