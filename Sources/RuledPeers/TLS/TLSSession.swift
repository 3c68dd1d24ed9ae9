internal import CTLS
internal import RuledCore

/// One end of a TLS 1.3 connection between memory buffers; it uses no socket.
final class TLSSession {
  enum Step: Equatable {
    case done
    /// It needs more ciphertext from the peer.
    case waits
    /// The peer has closed the connection properly.
    case ended
    /// The connection is broken, or the peer can't be trusted.
    case failed(String)
  }

  /// The most bytes of plaintext in a record.
  private static let recordBytes = 16 << 10
  private let raw: OpaquePointer

  /// The end that connects to the node `peer`, or the accepting end if that is nil; nil when memory has run out.
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

  func shake() -> Step { step(ct_shake(raw)) }

  /// Appends the plaintext of one record, if a whole one came.
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

  func write(_ bytes: ByteView) -> Step { step(ct_write(raw, bytes.baseAddress, bytes.count)) }
  func end() { ct_end(raw) }

  /// Moves the ciphertext for the peer to the end of `buffer`.
  func takeCiphertext(into buffer: ByteBuffer) {
    let count = ct_pending(raw)
    guard count > 0 else { return }
    buffer.append(upTo: count) { span in
      span.withUnsafeMutableBytes { memory, count in count = ct_drain(raw, memory.baseAddress, memory.count) }
    }
  }

  func isPeer(_ name: String) -> Bool { ct_peer_is(raw, name, name.utf8.count) }
}
