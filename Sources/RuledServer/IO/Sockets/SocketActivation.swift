internal import CUV
internal import Glibc

/// The listening sockets that systemd hands to a service, by the protocol of sd_listen_fds(3).
package enum SocketActivation {
  /// The first inherited descriptor.
  package static let firstDescriptor: Int32 = 3

  /// The Unix stream socket that systemd passed to this process, or nil.
  ///
  /// The variables are removed, so that no child takes them for its own; call it once, before other threads run.
  package static func take() throws(SystemError) -> ListeningSocket? {
    let inherited = descriptors(
      listenPID: getenv("LISTEN_PID").map { String(cString: $0) },
      listenCount: getenv("LISTEN_FDS").map { String(cString: $0) }, pid: getpid())
    unsetenv("LISTEN_PID")
    unsetenv("LISTEN_FDS")
    unsetenv("LISTEN_FDNAMES")
    guard let descriptor = inherited.first(where: isListeningUnixStream) else { return nil }
    return try ListeningSocket(inheriting: descriptor)
  }

  /// The descriptors that the variables promise to the process `pid`.
  static func descriptors(listenPID: String?, listenCount: String?, pid: Int32) -> Range<Int32> {
    let none = firstDescriptor..<firstDescriptor
    guard let listenPID, Int32(listenPID) == pid, let listenCount, let count = Int32(listenCount) else { return none }
    guard count > 0, count < 1024 else { return none }
    return firstDescriptor..<firstDescriptor + count
  }

  /// Whether a descriptor is a Unix stream socket that listens.
  static func isListeningUnixStream(_ descriptor: Int32) -> Bool {
    guard fcntl(descriptor, F_GETFD) >= 0 else { return false }
    return SystemCalls.socketOption(descriptor, SO_DOMAIN) == AF_UNIX
      && SystemCalls.socketOption(descriptor, SO_TYPE) == Int32(SOCK_STREAM.rawValue)
      && SystemCalls.socketOption(descriptor, SO_ACCEPTCONN) == 1
  }
}
