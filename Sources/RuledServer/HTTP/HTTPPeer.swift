/// Who is at the other end of an HTTP connection.
final class HTTPPeer: Sendable {
  /// Whether it came over the loopback listener, where a token decides, and not over the Unix socket.
  let isLoopback: Bool
  /// Whether the kernel says that it is an administrator.
  let isAdmin: Bool

  /// The peer of a connected socket.
  init(_ descriptor: Int32, admins: Administrators) {
    if let peer = PeerCredentials(of: descriptor), SystemCalls.isUnixSocket(descriptor) {
      isLoopback = false
      isAdmin = admins.include(peer, groups: PeerCredentials.groups(of: descriptor))
    } else {
      isLoopback = true
      isAdmin = false
    }
  }
}
