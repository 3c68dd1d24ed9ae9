import RuledCore

/// How commits stand in a file of the redo log.
///
/// The file begins with 16 bytes: `ruledlog`, then its number. Each commit follows as a frame: 8 bytes of checksum, 4 of the payload's length, 4 of
/// the lower half of the file's number, all little endian, and the payload, the records of a `WriteBatch`. A frame of the length `sealed` says that
/// the file is complete; without it, the file ends where a frame does not fit its checksum. The checksum covers the rest of the frame and where
/// in which file it stands, so that what an earlier file left on the disk never counts.
enum LogFrame {
  /// How many bytes a file begins with.
  static let fileHeader = 16
  /// How many bytes a frame has before its payload.
  static let header = 16
  /// How many bytes a block of a file has.
  static let block = 1 << 12
  /// The length of the frame that ends a complete file.
  static let sealed = UInt32.max

  private static let magic = UInt64(littleEndian: 0x676F_6C64_656C_7572)

  /// Writes the beginning of file `number`.
  static func writeFileHeader(_ number: UInt64, to base: UnsafeMutableRawPointer) {
    base.storeBytes(of: magic.littleEndian, as: UInt64.self)
    base.storeBytes(of: number.littleEndian, toByteOffset: 8, as: UInt64.self)
  }

  /// The number of the file that begins with these bytes; nil when they are no beginning.
  static func fileNumber(_ bytes: UnsafeRawBufferPointer) -> UInt64? {
    guard bytes.count >= fileHeader, bytes.loadUnaligned(as: UInt64.self) == magic.littleEndian else { return nil }
    return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  /// Writes the header of the frame at `offset` of file `number`, whose payload of `length` bytes lies behind it already.
  static func writeHeader(at offset: Int, length: UInt32, number: UInt64, in base: UnsafeMutableRawPointer) {
    let frame = base + offset
    frame.storeBytes(of: length.littleEndian, toByteOffset: 8, as: UInt32.self)
    frame.storeBytes(of: UInt32(truncatingIfNeeded: number).littleEndian, toByteOffset: 12, as: UInt32.self)
    let payload = length == sealed ? 0 : Int(length)
    let sum = checksum(UnsafeRawBufferPointer(start: frame + 8, count: 8 + payload), offset: offset, number: number)
    frame.storeBytes(of: sum.littleEndian, as: UInt64.self)
  }

  /// How many bytes the payload of the whole frame at `offset` has.
  static func payload(at offset: Int, in base: UnsafeRawPointer) -> Int {
    Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self)))
  }

  /// What stands at a place of a file.
  enum Found {
    /// A frame with a payload of so many bytes.
    case frame(payload: Int)
    /// The mark of a complete file.
    case seal
    /// Nothing that was written whole.
    case nothing
  }

  /// What stands at `offset` of file `number`.
  static func read(_ bytes: UnsafeRawBufferPointer, at offset: Int, number: UInt64) -> Found {
    guard offset + header <= bytes.count else { return .nothing }
    let length = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self))
    let payload = length == sealed ? 0 : Int(length)
    guard payload <= bytes.count - offset - header else { return .nothing }
    let covered = UnsafeRawBufferPointer(rebasing: bytes[(offset + 8)..<(offset + header + payload)])
    let sum = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    guard sum == checksum(covered, offset: offset, number: number) else { return .nothing }
    return length == sealed ? .seal : .frame(payload: payload)
  }

  private static func checksum(_ bytes: UnsafeRawBufferPointer, offset: Int, number: UInt64) -> UInt64 {
    hash64(bytes, seed: number &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(offset))
  }
}
