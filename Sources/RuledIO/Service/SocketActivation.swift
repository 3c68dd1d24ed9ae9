internal import Glibc

/// The listening sockets that systemd hands to a service, by the protocol of sd_listen_fds(3).
package enum SocketActivation {
  static let firstDescriptor: Int32 = 3

  package struct Inherited: Sendable, Equatable, CustomStringConvertible {
    package let descriptor: Int32
    /// The name that its unit gives it, by default the unit's.
    let name: String

    /// The descriptor as errors name it.
    package var description: String {
      name.isEmpty ? "descriptor \(descriptor)" : "'\(name)' (descriptor \(descriptor))"
    }
  }

  package struct Sockets: Sendable {
    package var unix: [Inherited]
    package var tcp: [Inherited]
    /// Descriptors that are no listening stream sockets.
    package var others: [Inherited]
  }

  /// The sockets that systemd passed to this process.
  ///
  /// Removes the variables, so that no child takes them for its own. Call it once, before other threads run.
  package static func inheritedSockets() -> Sockets {
    let inherited = descriptors(
      listenPID: takeVariable("LISTEN_PID"), listenCount: takeVariable("LISTEN_FDS"),
      names: takeVariable("LISTEN_FDNAMES"), pid: getpid())
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

  /// The value of an environment variable, which is removed.
  static func takeVariable(_ name: String) -> String? {
    defer { unsetenv(name) }
    return getenv(name).map { String(cString: $0) }
  }

  /// The descriptors that the variables promise to the process `pid`; `names` has one name each, with colons between.
  static func descriptors(listenPID: String?, listenCount: String?, names: String?, pid: Int32) -> [Inherited] {
    guard let listenPID, Int32(listenPID) == pid, let listenCount, let count = Int32(listenCount) else { return [] }
    guard count > 0, count < 1024 else { return [] }
    let names = names?.split(separator: ":", omittingEmptySubsequences: false).map { String($0) } ?? []
    return (0..<Int(count)).map { index in
      Inherited(descriptor: firstDescriptor + Int32(index), name: names.indices.contains(index) ? names[index] : "")
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
