import Glibc
import RuledCore
import RuledIO

/// The listening TCP socket of the loopback listener.
enum LoopbackSocket {
  /// A socket that listens at the address; the caller owns it.
  static func listen(_ address: ListenAddress) throws(SystemError) -> Int32 {
    let isV6 = address.host.contains(":")
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let number = try SystemCalls.check("socket", address.text) { socket(isV6 ? AF_INET6 : AF_INET, kind, 0) }
    let descriptor = OwnedDescriptor(owning: number)
    var yes: Int32 = 1
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    try SystemCalls.check("bind", address.text) { isV6 ? bind6(number, address) : bind4(number, address) }
    try SystemCalls.check("listen", address.text) { Glibc.listen(number, 1024) }
    return descriptor.release()
  }

  /// Whether a socket is bound to an address.
  static func isBound(_ descriptor: Int32, to address: ListenAddress) -> Bool {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let status = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        guard getsockname(descriptor, name, &length) == 0 else { return Int32(-1) }
        return getnameinfo(
          name, length, &host, socklen_t(host.count), &port, socklen_t(port.count), NI_NUMERICHOST | NI_NUMERICSERV)
      }
    }
    return status == 0 && text(host) == address.host && text(port) == "\(address.port)"
  }

  /// The text before the zero byte.
  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func bind4(_ descriptor: Int32, _ listen: ListenAddress) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = listen.port.bigEndian
    inet_pton(AF_INET, listen.host, &address.sin_addr)
    return bind(descriptor, &address)
  }

  private static func bind6(_ descriptor: Int32, _ listen: ListenAddress) -> Int32 {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = listen.port.bigEndian
    inet_pton(AF_INET6, listen.host, &address.sin6_addr)
    return bind(descriptor, &address)
  }

  private static func bind<Address>(_ descriptor: Int32, _ address: UnsafePointer<Address>) -> Int32 {
    UnsafeRawPointer(address).withMemoryRebound(to: sockaddr.self, capacity: 1) {
      Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
    }
  }
}
