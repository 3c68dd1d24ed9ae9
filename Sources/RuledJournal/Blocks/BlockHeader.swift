import RuledCore

/// The header of a block: 64 bytes, all numbers big-endian.
///
/// The filter of the block's subjects and its contents follow.
///
/// | bytes | what |
/// | --- | --- |
/// | 8 | checksum of the rest, contents included |
/// | 4 + 4 | `RJB1`, kind |
/// | 4 + 4 + 4 + 4 | bytes of the filter, of the contents, of the contents when decompressed; number of entries |
/// | 8 + 8 | first and last sequence that it covers |
/// | 8 + 8 | earliest and latest time of an entry, in microseconds since 1970 |
struct BlockHeader: Equatable {
  enum Kind: UInt32 {
    /// Entries as earlier versions wrote them, compressed; `WholeEntries` reads them.
    case wholeEntries = 0
    /// Why the sequences that it covers are missing, as text.
    case gap = 1
    /// The last block of a file: for each block before it the offset, the header and the filter.
    case index = 2
    /// Entries, compressed; `EntryCodec` has their layout.
    case entries = 3

    var hasEntries: Bool { self == .entries || self == .wholeEntries }
  }

  static let byteCount = 64
  private static let magic: UInt32 = 0x524A_4231
  private static let magicOffset = 8

  var kind: Kind
  var filterBytes = 0
  var contentBytes = 0
  var plainBytes = 0
  var entries = 0
  var first: UInt64
  var last: UInt64
  var earliest: Int64
  var latest: Int64

  /// The size of the block in bytes.
  var total: Int { Self.byteCount + filterBytes + contentBytes }

  func write(filter: [UInt8], contents: ByteView, into buffer: ByteBuffer) {
    let start = buffer.count
    buffer.append(bigEndian: UInt64(0))
    for word in [Self.magic, kind.rawValue] { buffer.append(bigEndian: word) }
    for number in [filter.count, contents.count, plainBytes, entries] { buffer.append(bigEndian: UInt32(number)) }
    for word in [first, last, UInt64(bitPattern: earliest), UInt64(bitPattern: latest)] {
      buffer.append(bigEndian: word)
    }
    filter.withView { buffer.append($0) }
    buffer.append(contents)
    buffer.overwrite(at: start, bigEndian: Self.checksum(buffer.bytes.extracting(start...)))
  }
}

extension BlockHeader {
  /// The header at the start of `bytes`; nil if there is none.
  init?(_ bytes: ByteView) {
    guard bytes.count >= Self.byteCount else { return nil }
    func number(_ offset: Int) -> UInt32 {
      UInt32(bigEndian: bytes.load(at: offset, as: UInt32.self))
    }
    func word(_ offset: Int) -> UInt64 {
      UInt64(bigEndian: bytes.load(at: offset, as: UInt64.self))
    }
    guard number(Self.magicOffset) == Self.magic, let kind = Kind(rawValue: number(12)) else { return nil }
    self.kind = kind
    filterBytes = Int(number(16))
    contentBytes = Int(number(20))
    plainBytes = Int(number(24))
    entries = Int(number(28))
    first = word(32)
    last = word(40)
    earliest = Int64(bitPattern: word(48))
    latest = Int64(bitPattern: word(56))
  }

  /// The offset of the next header in `bytes`, from an offset on, by its magic number; nil if there is none.
  static func find(in bytes: ByteView, from offset: Int) -> Int? {
    bytes.extracting(droppingFirst: offset + magicOffset).firstOffset(of: ByteView("RJB1")).map { offset + $0 }
  }

  /// Whether the checksum of a whole block is right.
  static func isWhole(_ block: ByteView) -> Bool {
    guard block.count >= byteCount else { return false }
    return UInt64(bigEndian: block.load(at: 0, as: UInt64.self)) == checksum(block)
  }

  private static func checksum(_ block: ByteView) -> UInt64 {
    hash64(block.extracting(8...), seed: UInt64(magic))
  }
}
