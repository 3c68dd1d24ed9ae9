import Glibc
import RuledCore

/// Makes the listening TCP socket of the loopback listener.
enum LoopbackSocket {
  /// A socket that listens at the address; the caller owns it.
  static func listen(_ address: ListenAddress) throws(SystemError) -> Int32 {
    let isV6 = address.host.contains(":")
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let number = try SystemCalls.check("socket", address.text) { socket(isV6 ? AF_INET6 : AF_INET, kind, 0) }
    let owned = OwnedDescriptor(owning: number)
    var yes: Int32 = 1
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    try SystemCalls.check("bind", address.text) { isV6 ? bind6(number, address) : bind4(number, address) }
    try SystemCalls.check("listen", address.text) { Glibc.listen(number, 1024) }
    return owned.release()
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
