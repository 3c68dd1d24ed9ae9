import Glibc
import RuledCore
import RuledIO
import TestSupport

/// A blocking client of a Unix socket, with a deadline on every read.
package final class Client {
  package private(set) var descriptor: Int32

  /// One end of a socket pair, and the other end for a server to adopt.
  package static func pair() -> (Client, server: Int32) {
    let ends = sockets()
    return (Client(ends[0]), ends[1])
  }

  /// Two sockets that are connected to each other.
  package static func sockets() -> [Int32] {
    var ends: [Int32] = [0, 0]
    let status = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    precondition(status == 0)
    return ends
  }

  package init(_ descriptor: Int32) {
    self.descriptor = descriptor
    var limit = timeval(tv_sec: 180, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// A client of the socket at `path`, or nil when nobody listens.
  package convenience init?(path: String) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard let address = UnixAddress(path), address.withSockaddr({ connect(descriptor, $0, $1) }) == 0 else {
      Glibc.close(descriptor)
      return nil
    }
    self.init(descriptor)
  }

  deinit { close() }

  package func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  package func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

  package func send(_ text: String) { send(Array(text.utf8)) }

  package func send(_ bytes: [UInt8]) { sendAll(bytes, to: descriptor) }

  /// Sends as many bytes as fit without waiting, and returns their number.
  package func sendAvailable(_ bytes: [UInt8]) -> Int {
    let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
    return max(0, bytes.withView { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) })
  }

  /// Reads up to `count` bytes; nothing at the end of the stream, after an error or after the deadline.
  package func receive(_ count: Int = 65536) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    let received = recv(descriptor, &buffer, count, 0)
    return received > 0 ? Array(buffer[..<received]) : []
  }

  /// Reads until `lines` newlines came or the stream ended.
  package func receive(lines: Int) -> String {
    var bytes: [UInt8] = []
    var count = 0
    while count < lines {
      let part = receive()
      if part.isEmpty { break }
      count += part.count(where: { $0 == 10 })
      bytes += part
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads to the end of the stream.
  package func receiveAll() -> String { receive(lines: Int.max) }
}
