internal import RuledCore

/// What nodes send each other.
///
/// A frame is four bytes of length, a byte that says the kind, then the kind's own bytes. Numbers are big-endian.
///
/// | kind | bytes |
/// | --- | --- |
/// | hello | `ruled`, the lowest and the highest version that the sender speaks, two bytes each, its node's name |
/// | requests | the batch's number, 8 bytes; each request after its length, 4 bytes |
/// | answer | the batch's number, the request's index in it, 4 bytes, the outcome, 1 byte, the answer |
/// | ping, pong | none |
/// | farewell | why the sender ends the connection, as text |
enum PeerFrame {
  /// Says who the sender is; the first frame in each direction.
  case hello(lowest: UInt16, highest: UInt16, name: String)
  /// A batch of requests, by whoever has connected.
  case requests(number: UInt64, batch: PeerBatch)
  /// An answer to one of them.
  case answer(number: UInt64, index: Int, outcome: Outcome, bytes: ByteView)
  /// Asks for a pong.
  case ping
  /// The sender lives.
  case pong
  /// The last frame of its sender.
  case farewell(String)

  /// What became of a request.
  enum Outcome: UInt8 { case answered = 0, overloaded, unavailable }

  private enum Kind: UInt8 { case hello = 1, requests, answer, ping, pong, farewell }

  /// The versions that this program speaks.
  static let versions: ClosedRange<UInt16> = 1...1
  /// How many bytes come before the kind's own.
  static let headBytes = 5
  /// How many bytes of an answer's frame come before the answer.
  static let answerBytes = headBytes + 13
  /// The most bytes of a frame before the peer has said who it is.
  static let helloBytes = 512
  private static let magic: StaticString = "ruled"

  // MARK: Writing

  private static func begin(_ kind: Kind, _ count: Int, in buffer: ByteBuffer) {
    buffer.append(bigEndian: UInt32(count + 1))
    buffer.append(kind.rawValue)
  }

  static func writeHello(name: String, into buffer: ByteBuffer) {
    begin(.hello, 9 + name.utf8.count, in: buffer)
    buffer.append(magic)
    for version in [versions.lowerBound, versions.upperBound] {
      buffer.append(UInt8(version >> 8))
      buffer.append(UInt8(version & 255))
    }
    buffer.append(contentsOf: name)
  }

  static func writeRequests(number: UInt64, _ batch: PeerBatch, into buffer: ByteBuffer) {
    begin(.requests, 8 + batch.byteCount, in: buffer)
    buffer.append(bigEndian: number)
    buffer.append(batch.encoded)
  }

  static func writeAnswer(
    number: UInt64, index: Int, _ outcome: Outcome, _ bytes: ByteView = .empty, into buffer: ByteBuffer
  ) {
    begin(.answer, 13 + bytes.count, in: buffer)
    buffer.append(bigEndian: number)
    buffer.append(bigEndian: UInt32(index))
    buffer.append(outcome.rawValue)
    buffer.append(bytes)
  }

  static func writePing(into buffer: ByteBuffer) { begin(.ping, 0, in: buffer) }

  static func writePong(into buffer: ByteBuffer) { begin(.pong, 0, in: buffer) }

  static func writeFarewell(_ reason: String, into buffer: ByteBuffer) {
    begin(.farewell, reason.utf8.count, in: buffer)
    buffer.append(contentsOf: reason)
  }

  // MARK: Reading

  /// How many bytes the frame has that begins here, its head included; nil when too few came to tell.
  static func length(_ bytes: ByteView) -> Int? {
    bytes.count < 4 ? nil : 4 + Int(UInt32(bigEndian: bytes.load(at: 0, as: UInt32.self)))
  }

  /// The whole frame in `bytes`, which an answer refers to; nil if it is none.
  init?(_ bytes: ByteView) {
    guard bytes.count >= Self.headBytes, let kind = Kind(rawValue: bytes[4]) else { return nil }
    let body = bytes.extracting(Self.headBytes..<bytes.count)
    switch kind {
    case .hello:
      guard body.count >= 9, ByteOrder.equal(body.extracting(0..<5), ByteView(Self.magic)) else { return nil }
      let lowest = UInt16(bigEndian: body.load(at: 5, as: UInt16.self))
      let highest = UInt16(bigEndian: body.load(at: 7, as: UInt16.self))
      self = .hello(
        lowest: lowest, highest: highest, name: String(decoding: body.extracting(9..<body.count), as: UTF8.self))
    case .requests:
      guard body.count >= 8, let batch = PeerBatch(encoded: body.extracting(8..<body.count)) else { return nil }
      self = .requests(number: UInt64(bigEndian: body.load(at: 0, as: UInt64.self)), batch: batch)
    case .answer:
      guard body.count >= 13, let outcome = Outcome(rawValue: body[12]) else { return nil }
      self = .answer(
        number: UInt64(bigEndian: body.load(at: 0, as: UInt64.self)),
        index: Int(UInt32(bigEndian: body.load(at: 8, as: UInt32.self))), outcome: outcome,
        bytes: body.extracting(13..<body.count))
    case .ping: self = .ping
    case .pong: self = .pong
    case .farewell: self = .farewell(String(decoding: body, as: UTF8.self))
    }
  }
}
