internal import Glibc
package import RuledCore

/// The socket of a connection to another node that was handed over: plain bytes to its user, TLS on the way.
///
/// It never blocks. One thread uses it at a time. It is closed with its last reference.
package final class PeerSocket: @unchecked Sendable {  // see above
  /// The result of a read or a write.
  package enum Transfer: Equatable {
    /// That many bytes were moved; a read that got part of a record has moved none.
    case moved(Int)
    /// Nothing could be moved now.
    case wouldBlock
    /// The peer has ended its side.
    case ended
    /// The connection is broken, for this reason.
    case failed(String)
  }

  /// How many bytes one read takes, and one write encrypts, at most; and how many a record has.
  private static let (mostBytes, recordBytes) = (256 << 10, 16 << 10)

  /// The socket, to wait for input and output.
  package let descriptor: Int32
  private let session: TLSSession
  /// What came before the connection was handed over.
  private var early: ByteBuffer
  private let ciphertext = ByteBuffer()
  /// The ciphertext that is to be written, and how much of it is.
  private let outgoing = ByteBuffer()
  private var written = 0
  private var inputEnded = false
  private var isClosed = false

  /// Takes over a connected descriptor, with the state of TLS, and the bytes that came already.
  init(owning descriptor: Int32, _ session: TLSSession, after early: ByteBuffer) {
    self.descriptor = descriptor
    self.session = session
    self.early = early
  }

  deinit { close() }

  // MARK: Reading

  /// Whether bytes can be read for which the descriptor does not become readable.
  package var hasInput: Bool { early.count > 0 }

  /// Appends what has come to `buffer`.
  package func receive(into buffer: ByteBuffer) -> Transfer {
    if hasInput {
      defer { early = ByteBuffer() }
      buffer.append(early)
      return .moved(early.count)
    }
    guard !inputEnded else { return .ended }
    ciphertext.removeAll()
    let count = ciphertext.append(upTo: Self.mostBytes) { span in
      span.withUnsafeMutableBytes { memory, count in
        let moved = Self.retrying { recv(descriptor, memory.baseAddress, memory.count, Int32(MSG_DONTWAIT)) }
        count = max(0, moved)
        return moved
      }
    }
    guard count > 0 else { return count == 0 ? .ended : Self.failure() }
    if case .failed(let why) = session.feed(ciphertext.bytes) { return .failed(why) }
    return decrypt(into: buffer)
  }

  private func decrypt(into buffer: ByteBuffer) -> Transfer {
    let start = buffer.count
    while true {
      switch session.read(into: buffer) {
      case .done: continue
      case .waits: return .moved(buffer.count - start)
      case .failed(let why): return .failed(why)
      case .ended:
        inputEnded = true
        return buffer.count > start ? .moved(buffer.count - start) : .ended
      }
    }
  }

  // MARK: Writing

  /// Whether bytes that `send` has taken are not written yet: then call `flush` once the descriptor is writable.
  package var hasUnsent: Bool { written < outgoing.count }

  /// Takes as many of the bytes as may wait, and writes what the system accepts.
  package func send(_ bytes: ByteView) -> Transfer {
    if hasUnsent {
      let flushed = flush()
      guard case .moved = flushed else { return flushed }
    }
    let count = min(bytes.count, Self.mostBytes)
    var offset = 0
    while offset < count {
      let next = min(offset + Self.recordBytes, count)
      if case .failed(let why) = session.write(bytes.extracting(offset..<next)) { return .failed(why) }
      offset = next
    }
    session.takeCiphertext(into: outgoing)
    if case .failed(let why) = flush() { return .failed(why) }
    return .moved(count)
  }

  /// Writes what waits; `.moved` once nothing does.
  package func flush() -> Transfer {
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    while hasUnsent {
      let rest = outgoing.bytes.extracting(written..<outgoing.count)
      let moved = Self.retrying { Glibc.send(descriptor, rest.baseAddress, rest.count, flags) }
      guard moved >= 0 else { return Self.failure() }
      written += moved
    }
    outgoing.removeAll()
    written = 0
    return .moved(0)
  }

  private static func retrying(_ body: () -> Int) -> Int {
    while true {
      let moved = body()
      if moved >= 0 || errno != EINTR { return moved }
    }
  }

  private static func failure() -> Transfer {
    errno == EAGAIN || errno == EWOULDBLOCK ? .wouldBlock : .failed(PeerError.text(of: errno))
  }

  // MARK: The end

  /// Tells the peer that nothing more comes, if that can be written at once, and closes the socket.
  package func close() {
    guard !isClosed else { return }
    isClosed = true
    if !hasUnsent {
      session.end()
      session.takeCiphertext(into: outgoing)
      _ = flush()
    }
    // If the system has input that was not read, it drops what was written just now.
    var rest = [UInt8](repeating: 0, count: Self.recordBytes)
    while Self.retrying({ recv(descriptor, &rest, rest.count, Int32(MSG_DONTWAIT)) }) > 0 {}
    Glibc.close(descriptor)
  }
}
