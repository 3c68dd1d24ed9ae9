import Glibc

/// The number of bytes sent over a Unix socket that its other end has not read yet.
package func unreadBytes(of descriptor: Int32) -> Int32 {
  var count: Int32 = 0
  let status = ioctl(descriptor, UInt(TIOCOUTQ), &count)
  precondition(status == 0, "ioctl: \(errno)")
  return count
}

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
