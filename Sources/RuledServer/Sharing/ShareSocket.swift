import RuledCore
import RuledPeers

/// What carries the bytes of a share connection: reads and writes that don't block, and a descriptor to wait for them.
///
/// One thread uses it at a time. It is closed with its last reference.
protocol ShareSocket: AnyObject, Sendable {
  /// What to wait for.
  var descriptor: Int32 { get }
  /// Whether bytes can be read for which the descriptor does not become readable.
  var hasInput: Bool { get }
  /// Whether bytes that `send` has taken wait to be written by `flush`.
  var hasUnsent: Bool { get }
  /// Appends what has come to `buffer`.
  func receive(into buffer: ByteBuffer) -> PeerSocket.Transfer
  /// Takes as many of the bytes as may wait, and writes what the system accepts.
  func send(_ bytes: ByteView) -> PeerSocket.Transfer
  /// Writes what waits; `.moved` once nothing does.
  func flush() -> PeerSocket.Transfer
  /// Closes it.
  func close()
}

extension PeerSocket: ShareSocket {}
