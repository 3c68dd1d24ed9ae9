import Glibc

/// Sends all bytes over a connected socket, and waits for that; returns false if the connection is closed.
@discardableResult
package func sendAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
  var offset = 0
  while offset < bytes.count {
    let count = bytes[offset...].withUnsafeBytes {
      Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    guard count > 0 else { return false }
    offset += count
  }
  return true
}
