internal import CUV
internal import Glibc
internal import RuledCore

extension NodeAddress {
  /// Resolves the host, and calls `body` on the loop's thread with its numeric addresses, or with none and the reason.
  func resolve(on loop: LoopState, _ body: @escaping ([NumericAddress], PeerError?) -> Void) {
    let lookup = Lookup(body)
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
  let body: ([NumericAddress], PeerError?) -> Void

  init(_ body: @escaping ([NumericAddress], PeerError?) -> Void) { self.body = body }

  deinit { request.deallocate() }
}

private func addressFound(
  _ request: UnsafeMutablePointer<uv_getaddrinfo_t>?, _ status: Int32, _ first: UnsafeMutablePointer<addrinfo>?
) {
  guard let data = request?.pointee.data else { return }
  let lookup = Unmanaged<Lookup>.fromOpaque(data).takeRetainedValue()
  var found: [NumericAddress] = []
  var next = first
  while let info = next?.pointee {
    if let address = NumericAddress(info) { found.append(address) }
    next = info.ai_next
  }
  uv_freeaddrinfo(first)
  lookup.body(found, found.isEmpty ? .unknownHost(PeerError.text(of: -status)) : nil)
}

/// A socket address of IPv4 or IPv6.
struct NumericAddress: CustomStringConvertible {
  private var storage = sockaddr_storage()

  /// The address that `fill` writes, given the storage and its length; nil when it returns false.
  init?(_ fill: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<Int32>) -> Bool) {
    var length = Int32(MemoryLayout<sockaddr_storage>.size)
    let isFilled = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { fill($0, &length) }
    }
    guard isFilled else { return nil }
  }

  init?(_ info: addrinfo) {
    guard let address = info.ai_addr, Int(info.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size else { return nil }
    withUnsafeMutableBytes(of: &storage) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))
    }
  }

  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
    withUnsafePointer(to: storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
    }
  }

  var port: UInt16 {
    withUnsafePointer(to: storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
    }
  }

  var description: String {
    var name = [CChar](repeating: 0, count: 64)
    let isV6 = storage.ss_family == sa_family_t(AF_INET6)
    withSockaddr { _ = uv_ip_name($0, &name, name.count) }
    let host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return isV6 ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
