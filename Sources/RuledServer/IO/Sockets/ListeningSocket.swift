internal import CUV
internal import Glibc

/// A listening Unix stream socket, made at a path or inherited from systemd.
///
/// When a socket that was made at a path is destroyed, its file is removed, unless another file has taken its place.
package struct ListeningSocket: ~Copyable {
  /// The descriptor; non-blocking and closed on exec.
  package let descriptor: Int32
  private let file: File?

  /// The socket file that was made.
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

  /// The same socket once more.
  package func copy() throws(SystemError) -> ListeningSocket { try ListeningSocket(copying: descriptor) }

  /// Makes a socket at `path` with its missing parent folders.
  ///
  /// A socket file is replaced when connecting to it is refused. A lock on the folder keeps apart two daemons that start at the same time.
  /// `mode` is the mode of the socket file, regardless of the umask.
  package init(path: String, mode: UInt32 = 0o660) throws(ListenError) {
    guard let address = UnixAddress(path), path.utf8.first != UInt8(ascii: "@") else {
      throw .invalidPath(path: path)
    }
    do {
      let folder = Self.folder(of: path)
      try Self.makeFolders(folder)
      let lock = try Self.lock(folder)
      try Self.removeStaleFile(at: address)
      (descriptor, file) = try Self.listen(address, mode)
      _ = consume lock
    } catch let error as SystemError {
      throw .system(error)
    } catch let error as ListenError {
      throw error
    } catch {
      throw .invalidPath(path: path)
    }
  }

  deinit {
    SystemCalls.close(descriptor)
    if let file, let status = Self.status(of: file.path), status.st_dev == file.device, status.st_ino == file.inode {
      unlink(file.path)
    }
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func makeFolders(_ folder: String) throws(SystemError) {
    if mkdir(folder, 0o755) == 0 || errno == EEXIST { return }
    if errno == ENOENT {
      try makeFolders(self.folder(of: folder))
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

  /// Removes a socket file that nobody listens on.
  private static func removeStaleFile(at address: UnixAddress) throws {
    guard let status = status(of: address.path) else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else { throw ListenError.notASocket(path: address.path) }
    let probe = OwnedDescriptor(owning: try makeSocket(for: address.path))
    let (_, number) = SystemCalls.retrying { address.withSockaddr { connect(probe.number, $0, $1) } }
    switch number {
    case ECONNREFUSED:
      try SystemCalls.check("unlink", address.path) { unlink(address.path) }
    case ENOENT:
      return
    case 0, EAGAIN, EPROTOTYPE:
      throw ListenError.occupied(path: address.path)
    default:
      throw SystemError(number, call: "connect", context: address.path)
    }
  }

  private static func makeSocket(for path: String) throws(SystemError) -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    return try SystemCalls.check("socket", path) { socket(AF_UNIX, kind, 0) }
  }

  private static func listen(_ address: UnixAddress, _ mode: UInt32) throws(SystemError) -> (Int32, File) {
    let path = address.path
    let socket = OwnedDescriptor(owning: try makeSocket(for: path))
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

/// Accepts connections on one loop and passes each descriptor on, non-blocking and closed on exec.
///
/// When descriptors or memory run out, accepting pauses for 100 milliseconds; connections wait in the kernel's queue meanwhile.
package final class Listener {
  /// How many milliseconds accepting pauses when descriptors have run out.
  package static let pause: UInt64 = 100

  private let loop: EventLoop
  private var socket: ListeningSocket?
  private var poll: DescriptorPoll?
  private var retry: LoopTimer?
  private let accepted: (Int32) -> Void

  package private(set) var isPaused = false

  /// Starts accepting.
  ///
  /// `accepted` gets the ownership of each descriptor.
  package init(
    on loop: EventLoop, _ socket: consuming ListeningSocket, accepted: @escaping (Int32) -> Void
  ) throws(SystemError) {
    let descriptor = socket.descriptor
    self.loop = loop
    self.socket = consume socket
    self.accepted = accepted
    poll = try DescriptorPoll(on: loop, descriptor) { [self] _ in accept() }
    retry = try LoopTimer(on: loop) { [self] in resume() }
    poll?.wait(for: .readable)
  }

  /// Stops accepting and closes the socket; the kernel refuses connections that still wait in its queue.
  package func stop() {
    poll?.close()
    retry?.close()
    poll = nil
    retry = nil
    socket = nil
  }

  private func resume() {
    isPaused = false
    poll?.wait(for: .readable)
  }

  /// Accepts up to 64 connections, so that a flood of them does not starve the open ones.
  private func accept() {
    for _ in 0..<64 {
      guard let descriptor = socket?.descriptor else { return }
      let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
      let (connection, number) = SystemCalls.retrying { ruled_accept4(descriptor, nil, nil, flags) }
      switch number {
      case 0: accepted(connection)
      case ECONNABORTED, EPROTO: continue
      case EAGAIN: return
      default:
        isPaused = true
        poll?.wait(for: [])
        retry?.start(after: Self.pause)
        return
      }
    }
  }
}

/// The listening sockets that systemd hands to a service, by the protocol of sd_listen_fds(3).
package enum SocketActivation {
  /// The first inherited descriptor.
  package static let firstDescriptor: Int32 = 3

  /// A descriptor that systemd passed to this process.
  package struct Inherited: Sendable, Equatable, CustomStringConvertible {
    package let descriptor: Int32
    /// The name that its unit gives it, by default the unit's.
    package let name: String

    /// The descriptor as errors name it.
    package var description: String {
      name.isEmpty ? "descriptor \(descriptor)" : "'\(name)' (descriptor \(descriptor))"
    }
  }

  /// What systemd passed to this process.
  package struct Sockets: Sendable {
    package var unix: [Inherited]
    package var tcp: [Inherited]
    /// Descriptors that are no listening stream sockets.
    package var others: [Inherited]
  }

  /// What systemd passed to this process.
  ///
  /// Removes the variables, so that no child takes them for its own. To be called once, before other threads run.
  package static func inheritedSockets() -> Sockets {
    let inherited = descriptors(
      listenPID: getenv("LISTEN_PID").map { String(cString: $0) },
      listenCount: getenv("LISTEN_FDS").map { String(cString: $0) },
      names: getenv("LISTEN_FDNAMES").map { String(cString: $0) }, pid: getpid())
    unsetenv("LISTEN_PID")
    unsetenv("LISTEN_FDS")
    unsetenv("LISTEN_FDNAMES")
    var sockets = Sockets(unix: [], tcp: [], others: [])
    for socket in inherited {
      _ = fcntl(socket.descriptor, F_SETFD, FD_CLOEXEC)
      if isListeningStream(socket.descriptor, of: [AF_UNIX]) {
        sockets.unix.append(socket)
      } else if isListeningStream(socket.descriptor, of: [AF_INET, AF_INET6]) {
        sockets.tcp.append(socket)
      } else {
        sockets.others.append(socket)
      }
    }
    return sockets
  }

  /// The descriptors that the variables promise to the process `pid`; `names` has one name each, with colons between.
  static func descriptors(listenPID: String?, listenCount: String?, names: String?, pid: Int32) -> [Inherited] {
    guard let listenPID, Int32(listenPID) == pid, let listenCount, let count = Int32(listenCount) else { return [] }
    guard count > 0, count < 1024 else { return [] }
    let names = names?.split(separator: ":", omittingEmptySubsequences: false).map { String($0) } ?? []
    return (0..<Int(count)).map { index in
      Inherited(
        descriptor: firstDescriptor + Int32(index), name: names.indices.contains(index) ? names[index] : "")
    }
  }

  /// Whether a descriptor is a stream socket of one of these address families that listens.
  static func isListeningStream(_ descriptor: Int32, of families: [Int32]) -> Bool {
    guard fcntl(descriptor, F_GETFD) >= 0, let family = SystemCalls.socketOption(descriptor, SO_DOMAIN) else {
      return false
    }
    return families.contains(family)
      && SystemCalls.socketOption(descriptor, SO_TYPE) == Int32(SOCK_STREAM.rawValue)
      && SystemCalls.socketOption(descriptor, SO_ACCEPTCONN) == 1
  }
}

/// Why a daemon can't listen on a socket path.
package enum ListenError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Another process answers there.
  case occupied(path: String)
  /// Something that is not a socket is there.
  case notASocket(path: String)
  /// The path does not fit into a socket address.
  case invalidPath(path: String)
  case system(SystemError)

  /// One sentence that says what to do.
  package var description: String {
    switch self {
    case .occupied(let path):
      "\(path): another daemon answers on this socket; stop it or choose another with --socket"
    case .notASocket(let path):
      "\(path): exists and is not a socket; choose another path with --socket"
    case .invalidPath(let path):
      "\(path): not a socket path; it needs 1 to \(UnixAddress.maximumLength) bytes, choose a shorter one with --socket"
    case .system(let error):
      error.description
    }
  }
}
