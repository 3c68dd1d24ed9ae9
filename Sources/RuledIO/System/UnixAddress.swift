package import Glibc

/// The address of a Unix socket: a path, or an abstract name written with a leading `@`.
package struct UnixAddress: Sendable {
  /// The longest path in bytes that the kernel takes.
  static let maximumLength = 107

  /// The path or `@name`.
  let path: String

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
    self.init(name.text)
  }

  package func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
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
