internal import CTLS
internal import RuledCore

/// One end of a TLS 1.3 connection, between ciphertext and plaintext; it knows no socket.
final class TLSSession {
  /// How a call went.
  enum Step: Equatable {
    /// It is done.
    case done
    /// More ciphertext has to come first.
    case waits
    /// The peer has ended the connection in good order.
    case ended
    /// The connection is broken, or the peer is none to talk to.
    case failed(String)
  }

  /// The most plaintext that one record has.
  private static let recordBytes = 16 << 10
  private let raw: OpaquePointer

  /// The end that connects to the node `peer`, or that accepts if that is nil; nil when memory has run out.
  init?(_ identity: PeerIdentity, to peer: String?) {
    guard let raw = peer.map({ ct_connect(identity.raw, $0) }) ?? ct_accept(identity.raw) else { return nil }
    self.raw = raw
  }

  deinit { ct_free(raw) }

  private func step(_ result: ct_result) -> Step {
    switch result {
    case CT_DONE: .done
    case CT_WAIT: .waits
    case CT_ENDED: .ended
    default: .failed(String(cString: ct_why(raw)))
    }
  }

  /// Takes ciphertext from the peer.
  func feed(_ bytes: ByteView) -> Step {
    ct_feed(raw, bytes.baseAddress, bytes.count) ? .done : .failed("memory has run out")
  }

  /// Goes on with the handshake.
  func shake() -> Step { step(ct_shake(raw)) }

  /// Appends one record of the peer's plaintext, if a whole one came.
  func read(into buffer: ByteBuffer) -> Step {
    buffer.append(upTo: Self.recordBytes) { span in
      span.withUnsafeMutableBytes { memory, count in
        var moved = 0
        let result = ct_read(raw, memory.baseAddress, memory.count, &moved)
        count = moved
        return step(result)
      }
    }
  }

  /// Encrypts plaintext.
  func write(_ bytes: ByteView) -> Step { step(ct_write(raw, bytes.baseAddress, bytes.count)) }

  /// Tells the peer that nothing more comes.
  func end() { ct_end(raw) }

  /// Appends the ciphertext that waits to be sent.
  func takeCiphertext(into buffer: ByteBuffer) {
    let count = ct_pending(raw)
    guard count > 0 else { return }
    buffer.append(upTo: count) { span in
      span.withUnsafeMutableBytes { memory, count in count = ct_drain(raw, memory.baseAddress, memory.count) }
    }
  }

  /// Whether the peer's certificate is for this node.
  func isPeer(_ name: String) -> Bool { ct_peer_is(raw, name) }
}
