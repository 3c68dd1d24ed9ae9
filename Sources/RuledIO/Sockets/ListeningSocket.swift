internal import CUV
internal import Glibc
internal import RuledCore

/// A listening Unix stream socket, made at a path or inherited from systemd.
///
/// When a socket made at a path is destroyed, its file is removed, unless another file has taken its place.
package struct ListeningSocket: ~Copyable {
  /// The descriptor; non-blocking and closed on exec.
  package let descriptor: Int32
  private let file: File?

  /// The new socket's file.
  ///
  /// Device and inode tell it from a later file of the same name.
  private struct File {
    let path: String
    let device: UInt
    let inode: UInt
  }

  /// Where clients connect to: the path that it is bound to, or `@name` in the abstract namespace; nil if it is bound to nothing.
  package var path: String? { UnixAddress(of: descriptor)?.path }

  /// Takes over an inherited descriptor that already listens.
  ///
  /// Its file, if any, is not removed.
  package init(inheriting descriptor: Int32) throws(SystemError) {
    self.descriptor = descriptor
    file = nil
    try SystemCalls.adopt(descriptor, "inherited socket \(descriptor)")
  }

  /// A socket beside another one: closing it leaves the other open.
  package init(copying descriptor: Int32) throws(SystemError) {
    try self.init(
      inheriting: try SystemCalls.check("fcntl", "listening socket") { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) })
  }

  /// Makes a socket at `path` with its missing parent folders.
  ///
  /// A socket file is replaced when connecting to it is refused. A lock on the folder keeps apart two daemons that start at the same time.
  /// `mode` is the mode of the socket file, regardless of the umask.
  package init(path: String, mode: UInt32 = 0o660) throws(ListenError) {
    let address = try Self.address(path)
    do {
      let folder = path.parentFolder
      try Self.makeFolders(folder)
      let lock = try Self.lock(folder)
      try Self.removeStaleFile(at: address)
      (descriptor, file) = try Self.listen(address, mode)
      _ = consume lock
    } catch let error as SystemError {
      throw .system(error)
    } catch let error as ListenError {
      throw error
    } catch { throw .invalidPath(path: path) }
  }

  deinit {
    SystemCalls.close(descriptor)
    if let file, let status = Self.status(of: file.path), status.st_dev == file.device, status.st_ino == file.inode {
      unlink(file.path)
    }
  }

  /// The address of a socket that is made at `path`; throws `invalidPath` if none can be.
  @discardableResult
  package static func address(_ path: String) throws(ListenError) -> UnixAddress {
    guard let address = UnixAddress(path), path.utf8.first != UInt8(ascii: "@") else { throw .invalidPath(path: path) }
    return address
  }

  private static func makeFolders(_ folder: String) throws(SystemError) {
    if mkdir(folder, 0o755) == 0 || errno == EEXIST { return }
    if errno == ENOENT {
      try makeFolders(folder.parentFolder)
      if mkdir(folder, 0o755) == 0 || errno == EEXIST { return }
    }
    throw SystemError(errno, call: "mkdir", context: folder)
  }

  private static func lock(_ folder: String) throws(SystemError) -> OwnedDescriptor {
    let number = try SystemCalls.check("open", folder) { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    let lock = OwnedDescriptor(owning: number)
    try SystemCalls.check("flock", folder) { flock(number, LOCK_EX) }
    return lock
  }

  private static func status(of path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  /// Removes a socket file without a listener.
  private static func removeStaleFile(at address: UnixAddress) throws {
    guard let status = status(of: address.path) else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else { throw ListenError.notASocket(path: address.path) }
    let probe = try SystemCalls.streamSocket(AF_UNIX, address.path)
    let (_, number) = SystemCalls.retrying { address.withSockaddr { connect(probe.number, $0, $1) } }
    switch number {
    case ECONNREFUSED: try SystemCalls.check("unlink", address.path) { unlink(address.path) }
    case ENOENT: return
    case 0, EAGAIN, EPROTOTYPE: throw ListenError.occupied(path: address.path)
    default: throw SystemError(number, call: "connect", context: address.path)
    }
  }

  private static func listen(_ address: UnixAddress, _ mode: UInt32) throws(SystemError) -> (Int32, File) {
    let path = address.path
    let socket = try SystemCalls.streamSocket(AF_UNIX, path)
    try SystemCalls.check("bind", path) { address.withSockaddr { bind(socket.number, $0, $1) } }
    do throws(SystemError) {
      try SystemCalls.check("chmod", path) { chmod(path, mode) }
      try SystemCalls.check("listen", path) { Glibc.listen(socket.number, 1024) }
      guard let status = status(of: path) else { throw SystemError(errno, call: "lstat", context: path) }
      return (socket.release(), File(path: path, device: status.st_dev, inode: status.st_ino))
    } catch {
      unlink(path)
      throw error
    }
  }
}

package enum ListenError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Another process answers there.
  case occupied(path: String)
  case notASocket(path: String)
  /// The path does not fit into a socket address.
  case invalidPath(path: String)
  case system(SystemError)

  /// One sentence that says what to do.
  package var description: String {
    switch self {
    case .occupied(let path): "\(path): another daemon answers on this socket; stop it or choose another with --socket"
    case .notASocket(let path): "\(path): exists and is not a socket; choose another path with --socket"
    case .invalidPath(let path):
      "\(path): not a socket path; it needs 1 to \(UnixAddress.maximumLength) bytes, choose a shorter one with --socket"
    case .system(let error): error.description
    }
  }
}
