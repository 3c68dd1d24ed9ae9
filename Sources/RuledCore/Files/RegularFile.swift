import Glibc

/// Reads whole files without ever blocking: a file that is too large, or not a regular one, is refused before it is read.
package enum RegularFile {
  /// Why a file is not read: a sentence without its subject, the file's name.
  package struct Refusal: Error, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether it is a link that leads out of the folder that may be read.
    package let leavesFolder: Bool

    package init(_ description: String, leavesFolder: Bool = false) {
      self.description = description
      self.leavesFolder = leavesFolder
    }

    package init(number: Int32) { self.init("can't be read: \(String(cString: strerror(number)))") }

    /// A refusal of a file of another kind in a folder of which every file is read.
    package init(kind: UInt32) {
      self.init("is \(RegularFile.name(of: kind)), and only regular files are read; remove it")
    }

    /// A refusal of a file of another kind that somebody has named.
    fileprivate init(named kind: UInt32) {
      self.init("is \(RegularFile.name(of: kind)), and only regular files are read; name a file")
    }
  }

  /// A noun with article for a file of that mode.
  package static func name(of mode: UInt32) -> String {
    switch mode & S_IFMT {
    case S_IFDIR: "a folder"
    case S_IFIFO: "a FIFO"
    case S_IFSOCK: "a socket"
    case S_IFCHR, S_IFBLK: "a device"
    case S_IFLNK: "a link"
    default: "a file"
    }
  }

  /// Whether every user of this host may read the file at `path`, by its mode alone.
  static func isReadableByAll(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & 0o004 != 0
  }

  /// The bytes of the file at `path`, `limit` at most; links are followed.
  package static func read(_ path: String, limit: Int) throws(Refusal) -> [UInt8] {
    try read(path, in: AT_FDCWD, limit: limit, followsLinks: true)
  }

  /// The bytes of the file of that name in an open folder, `limit` at most; a link is refused.
  package static func read(_ name: String, in folder: Int32, limit: Int) throws(Refusal) -> [UInt8] {
    try read(name, in: folder, limit: limit, followsLinks: false)
  }

  private static func read(
    _ path: String, in folder: Int32, limit: Int, followsLinks: Bool
  ) throws(Refusal) -> [UInt8] {
    // Check before opening, as opening a device may have an effect; check again after it, as the file may have been replaced.
    var status = stat()
    guard fstatat(folder, path, &status, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 else {
      throw Refusal(number: errno)
    }
    try check(status, limit, isNamed: followsLinks)
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW)
    let descriptor = openat(folder, path, flags)
    guard descriptor >= 0 else { throw Refusal(number: errno) }
    defer { close(descriptor) }
    guard fstat(descriptor, &status) == 0 else { throw Refusal(number: errno) }
    try check(status, limit, isNamed: followsLinks)
    return try bytes(of: descriptor, expecting: Int(status.st_size), limit)
  }

  private static func check(_ status: stat, _ limit: Int, isNamed: Bool) throws(Refusal) {
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw isNamed ? Refusal(named: status.st_mode) : Refusal(kind: status.st_mode)
    }
    guard status.st_size <= off_t(limit) else { throw tooLarge(limit) }
  }

  /// Reads to the end, whatever the size was: a file may change while it is read.
  private static func bytes(of descriptor: Int32, expecting size: Int, _ limit: Int) throws(Refusal) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size)
    var chunk = [UInt8](repeating: 0, count: min(max(size + 1, 512), 65_536))
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw Refusal(number: errno)
      }
      if count == 0 { return bytes }
      guard bytes.count + count <= limit else { throw tooLarge(limit) }
      bytes.append(contentsOf: chunk[..<count])
    }
  }

  private static func tooLarge(_ limit: Int) -> Refusal {
    let size = limit >= 1 << 20 ? "\(limit >> 20) MiB" : "\(limit >> 10) KiB"
    return Refusal("is larger than \(size), which is the most that is read")
  }
}
