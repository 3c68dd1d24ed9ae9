import CLinux
import Glibc
import RuledCore

/// The format of a file of the redo log.
///
/// All numbers are little endian. A file begins with a header of 64 bytes, the last eight of which are its checksum. Frames follow without gaps: 24 bytes of
/// header and the payload. The checksum of a frame covers the rest of it, its offset and the number of its file, so that no bytes of an earlier use of the
/// file are taken for a frame.
///
/// | file header | bytes | | frame header | bytes |
/// | --- | --- | --- | --- | --- |
/// | `ruledlog` | 8 | | checksum | 8 |
/// | number of the file | 8 | | length of the payload | 4 |
/// | number of the file before it | 8 | | lower half of the file's number | 4 |
/// | where that one ends, 0 when its seal says so | 8 | | how far the file was synced when the frame was written | 4 |
/// | length that the file was given | 8 | | kind | 4 |
/// | zeros, checksum | 16 + 8 | | | |
enum LogFrame {
  /// The bytes of a file's header.
  static let fileHeader = 64
  /// The bytes of a frame's header.
  static let header = 24
  /// The bytes of a file's block.
  static let block = 1 << 12

  fileprivate static let magic = UInt64(littleEndian: 0x676F_6C64_656C_7572)

  enum Kind: UInt32 {
    /// A commit: its payload is `WriteRecords`.
    case commit = 0
    /// The end of a complete file.
    case seal = 1
    /// Says, behind the last commit, how far the file is synced; the next commit is written over it.
    case mark = 2
  }

  struct FileHeader: Equatable {
    var number: UInt64
    /// The number of the file before it, 0 when it is the first.
    var predecessor: UInt64
    /// Where the file before it ends; 0 when a seal there says so, or when that is not known yet.
    var predecessorEnd = 0
    /// The length that the file was given.
    var length: Int

    func write(to base: UnsafeMutableRawPointer) {
      memset(base, 0, LogFrame.fileHeader)
      base.storeBytes(of: LogFrame.magic.littleEndian, as: UInt64.self)
      base.storeBytes(of: number.littleEndian, toByteOffset: 8, as: UInt64.self)
      base.storeBytes(of: predecessor.littleEndian, toByteOffset: 16, as: UInt64.self)
      base.storeBytes(of: UInt64(predecessorEnd).littleEndian, toByteOffset: 24, as: UInt64.self)
      base.storeBytes(of: UInt64(length).littleEndian, toByteOffset: 32, as: UInt64.self)
      let sum = hash64(ByteView(start: base, count: LogFrame.fileHeader - 8), seed: LogFrame.magic)
      base.storeBytes(of: sum.littleEndian, toByteOffset: LogFrame.fileHeader - 8, as: UInt64.self)
    }
  }

  /// Writes the header of the frame at `offset` of file `number`; its payload of `length` bytes is there already.
  static func writeHeader(
    _ kind: Kind, at offset: Int, length: Int, number: UInt64, synced: Int, in base: UnsafeMutableRawPointer
  ) {
    let frame = base + offset
    frame.storeBytes(of: UInt32(length).littleEndian, toByteOffset: 8, as: UInt32.self)
    frame.storeBytes(of: UInt32(truncatingIfNeeded: number).littleEndian, toByteOffset: 12, as: UInt32.self)
    frame.storeBytes(of: UInt32(synced).littleEndian, toByteOffset: 16, as: UInt32.self)
    frame.storeBytes(of: kind.rawValue.littleEndian, toByteOffset: 20, as: UInt32.self)
    let covered = ByteView(start: frame + 8, count: header - 8 + length)
    frame.storeBytes(of: checksum(covered, offset: offset, number: number).littleEndian, as: UInt64.self)
  }

  /// The length of the payload of the whole frame at `offset`.
  static func payload(at offset: Int, in base: UnsafeRawPointer) -> Int {
    Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self)))
  }

  struct Frame {
    let kind: Kind
    let offset: Int
    let payload: Int
    /// How far the file was synced when it was written.
    let synced: Int

    /// Where the next one begins.
    var end: Int { offset + LogFrame.header + payload }
  }

  /// The whole frame at `offset` of file `number`; nil when there is none.
  static func read(_ bytes: ByteView, at offset: Int, number: UInt64) -> Frame? {
    guard offset >= fileHeader, offset + header <= bytes.count else { return nil }
    func word(_ position: Int) -> UInt32 {
      UInt32(littleEndian: bytes.load(at: offset + position, as: UInt32.self))
    }
    let payload = Int(word(8))
    guard word(12) == UInt32(truncatingIfNeeded: number), let kind = Kind(rawValue: word(20)),
      payload <= bytes.count - offset - header, Int(word(16)) <= offset
    else { return nil }
    let covered = bytes.extracting((offset + 8)..<(offset + header + payload))
    let sum = UInt64(littleEndian: bytes.load(at: offset, as: UInt64.self))
    guard sum == checksum(covered, offset: offset, number: number) else { return nil }
    return Frame(kind: kind, offset: offset, payload: payload, synced: Int(word(16)))
  }

  /// The first whole frame of file `number` from `offset` on, wherever it begins; nil when there is none.
  static func search(_ bytes: ByteView, from offset: Int, number: UInt64) -> Frame? {
    guard let base = bytes.baseAddress else { return nil }
    var needle = UInt32(truncatingIfNeeded: number).littleEndian
    var start = offset + 12
    while start + 4 <= bytes.count {
      guard let found = cl_find(base + start, bytes.count - start, &needle, 4) else { return nil }
      let at = found - base
      if let frame = read(bytes, at: at - 12, number: number) { return frame }
      start = at + 1
    }
    return nil
  }

  /// Whether a frame of file `number` was begun at `offset`, whole or not.
  static func isBegun(_ bytes: ByteView, at offset: Int, number: UInt64) -> Bool {
    guard offset + header <= bytes.count else { return false }
    let low = UInt32(littleEndian: bytes.load(at: offset + 12, as: UInt32.self))
    return low == UInt32(truncatingIfNeeded: number)
  }

  private static func checksum(_ bytes: ByteView, offset: Int, number: UInt64) -> UInt64 {
    hash64(bytes, seed: number &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(offset))
  }
}

extension LogFrame.FileHeader {
  /// The header of an open file; nil when it has no whole one.
  init?(of file: any StoreFile) throws(StoreError) {
    guard try file.size() >= LogFrame.fileHeader else { return nil }
    let room = ByteBuffer(capacity: LogFrame.fileHeader)
    try file.read(LogFrame.fileHeader, at: 0, into: room)
    defer { withExtendedLifetime(room) {} }
    self.init(room.bytes)
  }

  /// The header that a file's bytes begin with; nil when they don't begin with a whole one.
  init?(_ bytes: ByteView) {
    guard bytes.count >= LogFrame.fileHeader else { return nil }
    func word(_ offset: Int) -> UInt64 { UInt64(littleEndian: bytes.load(at: offset, as: UInt64.self)) }
    let covered = bytes.extracting(..<(LogFrame.fileHeader - 8))
    guard word(0) == LogFrame.magic, word(LogFrame.fileHeader - 8) == hash64(covered, seed: LogFrame.magic) else {
      return nil
    }
    guard let end = Int(exactly: word(24)), let length = Int(exactly: word(32)) else { return nil }
    self.init(number: word(8), predecessor: word(16), predecessorEnd: end, length: length)
  }
}
