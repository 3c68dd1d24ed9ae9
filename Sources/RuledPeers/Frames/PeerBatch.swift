package import RuledCore

/// Requests that travel to another node together: each is opaque bytes, in the order in which they were appended.
///
/// A batch belongs to one thread at a time; whoever hands it on hands over all of it.
package final class PeerBatch: @unchecked Sendable {  // handed over whole: one thread uses a batch at a time
  /// The requests, each after its length in four bytes: what a frame has of them.
  let encoded: ByteBuffer
  private var ends: [Int] = []

  /// An empty batch.
  package init() { encoded = ByteBuffer(capacity: 1024) }

  /// The batch that a frame holds; nil if it holds none.
  init?(encoded bytes: ByteView) {
    var offset = 0
    while offset < bytes.count {
      guard bytes.count - offset >= 4 else { return nil }
      let length = Int(UInt32(bigEndian: bytes.load(at: offset, as: UInt32.self)))
      guard length <= bytes.count - offset - 4 else { return nil }
      offset += 4 + length
      ends.append(offset)
    }
    guard !ends.isEmpty else { return nil }
    encoded = ByteBuffer(capacity: bytes.count)
    encoded.append(bytes)
  }

  /// Appends a request.
  package func append(_ request: ByteView) {
    encoded.append(bigEndian: UInt32(request.count))
    encoded.append(request)
    ends.append(encoded.count)
  }

  /// How many requests there are.
  package var count: Int { ends.count }

  /// How many bytes they take on the way.
  package var byteCount: Int { encoded.count }

  /// A request; valid until the batch is changed or dropped.
  package subscript(index: Int) -> ByteView {
    let start = (index == 0 ? 0 : ends[index - 1]) + 4
    return encoded.bytes.extracting(start..<ends[index])
  }
}

/// What became of a request to another node.
package enum PeerAnswer {
  /// The node has answered; the bytes are valid during the call.
  case answered(ByteView)
  /// The node has too much to do and has not begun the request.
  case overloaded
  /// There is no answer. The request was not sent, or else nobody knows what became of it.
  case unavailable(wasSent: Bool)
}
