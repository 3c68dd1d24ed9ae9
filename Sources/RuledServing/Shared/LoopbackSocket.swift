import Glibc
package import RuledCore
package import RuledIO

/// The listening TCP socket of the loopback listener.
package enum LoopbackSocket {
  /// A socket that listens at the address; the caller owns it.
  package static func listen(_ address: ListenAddress) throws(SystemError) -> Int32 {
    guard let numeric = NumericAddress(host: address.host, port: address.port) else {
      throw SystemError(EINVAL, call: "bind", context: address.text)
    }
    return try numeric.listen().release()
  }

  /// Whether a socket is bound to an address.
  package static func isBound(_ descriptor: Int32, to address: ListenAddress) -> Bool {
    NumericAddress(of: descriptor)?.description == address.text
  }
}
