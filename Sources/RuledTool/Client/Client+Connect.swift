internal import Glibc

extension Client {
  /// Connects to `path` and gives the descriptor.
  static func open(_ path: String) throws(ToolError) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < room else {
      throw ToolError("the socket's path is longer than \(room - 1) bytes: \(path)")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw ToolError("cannot open a socket: \(String(cString: strerror(errno)))") }
    let failure = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        while true {
          if connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 { return Int32(0) }
          if errno != EINTR { return errno }
        }
      }
    }
    guard failure != 0 else { return descriptor }
    close(descriptor)
    throw explain(failure, path)
  }

  private static func explain(_ failure: Int32, _ path: String) -> ToolError {
    switch failure {
    case ENOENT, ECONNREFUSED, ENOTSOCK:
      ToolError(
        "no daemon listens on \(path); start it with 'systemctl start ruled' or 'ruled --socket \(path)', "
          + "or name another socket with --socket")
    case EACCES, EPERM:
      ToolError(
        "not allowed to open \(path); it is open to the group '\(group(of: path))': "
          + "join it with 'sudo usermod -aG \(group(of: path)) $USER' and log in again")
    default:
      ToolError("cannot connect to \(path): \(String(cString: strerror(failure)))")
    }
  }

  private static func group(of path: String) -> String {
    var status = stat()
    guard stat(path, &status) == 0, let entry = getgrgid(status.st_gid), let name = entry.pointee.gr_name else {
      return "ruled"
    }
    return String(cString: name)
  }
}
