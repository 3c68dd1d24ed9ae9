import Glibc
import RuledCore
import RuledPeers

@testable import RuledServer

/// A connection without TLS, between two threads of a test.
final class PlainSocket: ShareSocket {
  let descriptor: Int32
  let hasInput = false
  let hasUnsent = false

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { SystemCalls.close(descriptor) }

  /// Two ends of a connection.
  static func pair() -> (near: PlainSocket, far: PlainSocket) {
    let ends = Client.sockets()
    return (PlainSocket(ends[0]), PlainSocket(ends[1]))
  }

  func receive(into buffer: ByteBuffer) -> PeerSocket.Transfer {
    Self.transfer(buffer.append(upTo: 256 << 10) { SystemCalls.receive(descriptor, into: &$0) })
  }

  func send(_ bytes: ByteView) -> PeerSocket.Transfer { Self.transfer(SystemCalls.send(descriptor, bytes)) }

  func flush() -> PeerSocket.Transfer { .moved(0) }

  /// Ends both directions; the descriptor is closed with the last reference.
  func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  private static func transfer(_ transfer: SystemCalls.Transfer) -> PeerSocket.Transfer {
    switch transfer {
    case .moved(let count): .moved(count)
    case .wouldBlock: .wouldBlock
    case .ended: .ended
    case .failed(let number): .failed(SystemError.text(of: number))
    }
  }
}
