internal import CUV
internal import Glibc
package import RuledCore

/// A socket address of IPv4 or IPv6.
package struct NumericAddress: CustomStringConvertible {
  private var storage = sockaddr_storage()
  private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

  /// The address of a host given as numbers; nil for any other host.
  package init?(host: String, port: UInt16) {
    let isV6 = host.contains(":")
    let status = withUnsafeMutablePointer(to: &storage) { pointer in
      isV6
        ? pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { uv_ip6_addr(host, Int32(port), $0) }
        : pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { uv_ip4_addr(host, Int32(port), $0) }
    }
    guard status == 0 else { return nil }
    length = socklen_t(isV6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
  }

  /// The address that a socket is bound to, or that of its peer; nil if there is none.
  package init?(of descriptor: Int32, isPeer: Bool = false) {
    var length = self.length
    let status = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        isPeer ? getpeername(descriptor, $0, &length) : getsockname(descriptor, $0, &length)
      }
    }
    guard status == 0, [AF_INET, AF_INET6].contains(Int32(storage.ss_family)) else { return nil }
    self.length = length
  }

  fileprivate init?(_ info: addrinfo) {
    guard let address = info.ai_addr, info.ai_addrlen <= length else { return nil }
    withUnsafeMutableBytes(of: &storage) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))
    }
    length = info.ai_addrlen
  }

  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  package var port: UInt16 {
    withUnsafePointer(to: storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
    }
  }

  package var description: String {
    var name = [CChar](repeating: 0, count: 64)
    withSockaddr { address, _ in _ = uv_ip_name(address, &name, name.count) }
    let host = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }.text
    return isV6 ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  private var isV6: Bool { storage.ss_family == sa_family_t(AF_INET6) }

  /// A stream socket for the address; non-blocking and closed on exec.
  func makeSocket() throws(SystemError) -> OwnedDescriptor {
    try SystemCalls.streamSocket(Int32(storage.ss_family), description)
  }

  /// A socket that listens at the address; at `[::]` it takes IPv4 too.
  package func listen() throws(SystemError) -> OwnedDescriptor {
    let listening = try makeSocket()
    var (yes, no): (Int32, Int32) = (1, 0)
    let size = socklen_t(MemoryLayout<Int32>.size)
    setsockopt(listening.number, SOL_SOCKET, SO_REUSEADDR, &yes, size)
    if isV6 { setsockopt(listening.number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &no, size) }
    try SystemCalls.check("bind", description) { withSockaddr { bind(listening.number, $0, $1) } }
    try SystemCalls.check("listen", description) { Glibc.listen(listening.number, 1024) }
    return listening
  }
}

// MARK: Names of hosts

extension NodeAddress {
  /// Resolves the host, and calls `body` on the loop's thread with its addresses; without any, `problem` says why.
  package func resolve(on loop: EventLoop, _ body: @escaping (_ found: [NumericAddress], _ problem: String) -> Void) {
    let lookup = Lookup(on: loop, body)
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    lookup.request.pointee.data = Unmanaged.passRetained(lookup).toOpaque()
    let status = uv_getaddrinfo(loop.raw, lookup.request, addressFound, host, "\(port)", &hints)
    if status != 0 { addressFound(lookup.request, status, nil) }
  }
}

/// A lookup of a host's addresses, which lives until it is answered.
private final class Lookup {
  let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
  private let loop: EventLoop
  private let body: ([NumericAddress], String) -> Void

  init(on loop: EventLoop, _ body: @escaping ([NumericAddress], String) -> Void) {
    self.loop = loop
    self.body = body
  }

  deinit { request.deallocate() }

  func answer(_ found: [NumericAddress], _ status: Int32) {
    loop.beginTick()
    body(found, status == 0 ? "it has none" : String(cString: uv_strerror(status)))
  }
}

private func addressFound(
  _ request: UnsafeMutablePointer<uv_getaddrinfo_t>?, _ status: Int32, _ first: UnsafeMutablePointer<addrinfo>?
) {
  guard let data = request?.pointee.data else { return }
  var found: [NumericAddress] = []
  var next = first
  while let info = next?.pointee {
    if let address = NumericAddress(info) { found.append(address) }
    next = info.ai_next
  }
  uv_freeaddrinfo(first)
  Unmanaged<Lookup>.fromOpaque(data).takeRetainedValue().answer(found, status)
}
