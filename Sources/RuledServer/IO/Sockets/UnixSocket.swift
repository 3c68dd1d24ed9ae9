internal import CUV
internal import Glibc

/// The address of a Unix socket: a path, or an abstract name written with a leading `@`.
package struct UnixAddress: Sendable {
  /// The longest path in bytes that the kernel takes.
  package static let maximumLength = 107

  /// The path or `@name`.
  package let path: String

  /// An address, or nil when the path is empty, too long or holds a zero byte.
  package init?(_ path: String) {
    guard !path.isEmpty, path.utf8.count <= Self.maximumLength, !path.utf8.contains(0) else { return nil }
    self.path = path
  }

  /// The address that a socket is bound to, or nil when it is bound to none.
  init?(of descriptor: Int32) {
    var address = sockaddr_un()
    let head = MemoryLayout<sa_family_t>.size
    var length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard status == 0, address.sun_family == sa_family_t(AF_UNIX), Int(length) > head else { return nil }
    var name = withUnsafeBytes(of: &address.sun_path) { Array($0.prefix(Int(length) - head)) }
    if name[0] == 0 {
      name[0] = UInt8(ascii: "@")
    } else {
      name = Array(name.prefix { $0 != 0 })
    }
    self.init(String(decoding: name, as: UTF8.self))
  }

  /// Calls `body` with the address as the socket calls take it.
  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let isAbstract = path.utf8.first == UInt8(ascii: "@")
    withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      bytes.copyBytes(from: path.utf8)
      if isAbstract { bytes[0] = 0 }
    }
    let head = MemoryLayout<sa_family_t>.size
    let length = head + path.utf8.count + (isAbstract ? 0 : 1)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
  }
}

/// The process at the other end of a Unix socket, as the kernel recorded it at connect(2).
package struct PeerCredentials: Sendable, Equatable {
  package let pid: Int32
  /// Its effective user.
  package let uid: UInt32
  /// Its effective group.
  package let gid: UInt32

  package init(pid: Int32, uid: UInt32, gid: UInt32) {
    self.pid = pid
    self.uid = uid
    self.gid = gid
  }

  /// The peer of a connected socket by SO_PEERCRED, or nil where the kind of socket has none.
  package init?(of descriptor: Int32) {
    var credentials = ruled_credentials()
    var length = socklen_t(MemoryLayout<ruled_credentials>.size)
    let (_, number) = SystemCalls.retrying {
      getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
    }
    guard number == 0, credentials.uid != UInt32.max else { return nil }
    self.init(pid: credentials.pid, uid: credentials.uid, gid: credentials.gid)
  }

  /// The supplementary groups of a connected socket's peer by SO_PEERGROUPS; empty where they are not known.
  package static func groups(of descriptor: Int32) -> [UInt32] {
    var groups = [UInt32](repeating: 0, count: 256)
    var length = socklen_t(groups.count * MemoryLayout<UInt32>.size)
    let (_, number) = SystemCalls.retrying {
      getsockopt(descriptor, SOL_SOCKET, ruled_so_peergroups, &groups, &length)
    }
    guard number == 0 else { return [] }
    return Array(groups.prefix(Int(length) / MemoryLayout<UInt32>.size))
  }
}
