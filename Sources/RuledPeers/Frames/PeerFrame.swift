internal import RuledCore
internal import RuledIO

/// A frame, the unit of the protocol between nodes.
///
/// A frame has four bytes of length, a byte of kind, and the body. Numbers are big-endian.
///
/// | kind | body |
/// | --- | --- |
/// | hello | `ruled`, the lowest and the highest version that the sender speaks, two bytes each, its node's name |
/// | open | where the client connected, 1 byte; its rights, 1 byte |
/// | data | bytes from the client, or for it |
/// | room | the bytes of data that the receiver of the frame may send beyond earlier grants, 4 bytes |
/// | end | none; no data follows |
/// | ping, pong | none |
/// | farewell | why the sender ends the connection, as text |
///
/// A connection with `open` is a tunnel for one client. Each side may send `window` bytes of data at first, and then as many bytes as `room`
/// grants.
enum PeerFrame {
  /// The sender's name and versions; the first frame in each direction.
  case hello(lowest: UInt16, highest: UInt16, name: String)
  /// Makes the connection a tunnel for a client; sent by the side that connected. Nil stands for a kind of client that this version does not know.
  case open(ClientAccess?)
  case data(ByteView)
  /// Grants that many more bytes.
  case room(Int)
  /// The sender has no more data.
  case end
  case ping
  case pong
  /// The last frame of its sender.
  case farewell(String)

  private enum Kind: UInt8 { case hello = 1, open, data, room, end, ping, pong, farewell }

  /// The versions that this program speaks; the second one had a further kind of `open`, which is refused.
  static let versions: ClosedRange<UInt16> = 1...2
  static let headBytes = 5
  /// The most bytes of a frame before the peer's `hello`.
  static let helloBytes = 512
  static let mostBytes = 512 << 10
  /// The most bytes of data in flight in each direction.
  static let window = 1 << 20
  private static let magic: StaticString = "ruled"

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

  static func writeOpen(_ client: ClientAccess, into buffer: ByteBuffer) {
    begin(.open, 2, in: buffer)
    buffer.append(client.listener.rawValue)
    buffer.append((client.isAdmin ? 1 : 0) | (client.isCourier ? 2 : 0))
  }

  static func writeData(_ bytes: ByteView, into buffer: ByteBuffer) {
    begin(.data, bytes.count, in: buffer)
    buffer.append(bytes)
  }

  static func writeRoom(_ count: Int, into buffer: ByteBuffer) {
    begin(.room, 4, in: buffer)
    buffer.append(bigEndian: UInt32(count))
  }

  static func writeEnd(into buffer: ByteBuffer) { begin(.end, 0, in: buffer) }

  static func writePing(into buffer: ByteBuffer) { begin(.ping, 0, in: buffer) }

  static func writePong(into buffer: ByteBuffer) { begin(.pong, 0, in: buffer) }

  static func writeFarewell(_ reason: String, into buffer: ByteBuffer) {
    begin(.farewell, reason.utf8.count, in: buffer)
    buffer.append(contentsOf: reason)
  }

  /// The length of the frame that begins here, its head included; nil if fewer than four bytes came.
  static func length(_ bytes: ByteView) -> Int? {
    bytes.count < 4 ? nil : 4 + Int(UInt32(bigEndian: bytes.load(at: 0, as: UInt32.self)))
  }

  /// Parses a whole frame, whose data then points into `bytes`; nil if the bytes are no frame.
  init?(_ bytes: ByteView) {
    guard bytes.count >= Self.headBytes, let kind = Kind(rawValue: bytes[4]) else { return nil }
    let body = bytes.extracting(Self.headBytes..<bytes.count)
    switch kind {
    case .hello:
      guard body.count >= 9, ByteOrder.equal(body.extracting(0..<5), ByteView(Self.magic)) else { return nil }
      let lowest = UInt16(bigEndian: body.load(at: 5, as: UInt16.self))
      let highest = UInt16(bigEndian: body.load(at: 7, as: UInt16.self))
      self = .hello(
        lowest: lowest, highest: highest, name: body.extracting(9..<body.count).text)
    case .open:
      guard body.count == 2, body[1] < 4 else { return nil }
      self = .open(
        ClientAccess.Listener(rawValue: body[0]).map {
          ClientAccess($0, isAdmin: body[1] & 1 != 0, isCourier: body[1] & 2 != 0)
        })
    case .data: self = .data(body)
    case .room:
      guard body.count == 4 else { return nil }
      self = .room(Int(UInt32(bigEndian: body.load(at: 0, as: UInt32.self))))
    case .end: self = .end
    case .ping: self = .ping
    case .pong: self = .pong
    case .farewell: self = .farewell(body.text)
    }
  }
}
