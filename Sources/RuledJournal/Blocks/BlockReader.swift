import CLinux
import RuledCore

/// Reads bytes that the journal wrote, from front to back; each method returns nil if they end too early.
struct BlockReader {
  private let bytes: ByteView
  private(set) var offset = 0

  init(_ bytes: ByteView) { self.bytes = bytes }

  var isAtEnd: Bool { offset >= bytes.count }

  mutating func byte() -> UInt8? {
    guard offset < bytes.count else { return nil }
    defer { offset += 1 }
    return bytes[offset]
  }

  @inline(__always)
  mutating func varint() -> UInt64? {
    guard offset < bytes.count, bytes[offset] < 0x80 else { return longVarint() }
    defer { offset += 1 }
    return UInt64(bytes[offset])
  }

  /// A number that may have several bytes.
  private mutating func longVarint() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while shift < 64, let next = byte() {
      value |= UInt64(next & 0x7F) << shift
      if next < 0x80 { return value }
      shift += 7
    }
    return nil
  }

  /// A signed number in zigzag encoding: small ones of either sign have few bytes.
  mutating func signed() -> Int64? {
    varint().map { Int64(bitPattern: $0 >> 1) ^ -Int64(bitPattern: $0 & 1) }
  }

  /// Eight bytes, the most significant first.
  mutating func word() -> UInt64? {
    guard bytes.count - offset >= 8 else { return nil }
    defer { offset += 8 }
    return UInt64(bigEndian: bytes.load(at: offset, as: UInt64.self))
  }

  /// Four bytes, the most significant first.
  mutating func word32() -> UInt32? {
    guard bytes.count - offset >= 4 else { return nil }
    defer { offset += 4 }
    return UInt32(bigEndian: bytes.load(at: offset, as: UInt32.self))
  }

  mutating func string() -> ByteView? {
    guard let length = varint(), length <= UInt64(bytes.count - offset) else { return nil }
    defer { offset += Int(length) }
    return bytes.extracting(offset..<offset + Int(length))
  }

  /// The bytes of `count` strings, with their lengths.
  mutating func strings(_ count: Int) -> ByteView? {
    let start = offset
    for _ in 0..<count { guard string() != nil else { return nil } }
    return bytes.extracting(start..<offset)
  }
}

extension ByteView {
  /// The first offset at which the bytes of `wanted` occur; nil without any.
  func firstOffset(of wanted: ByteView) -> Int? {
    guard let start = baseAddress, let needle = wanted.baseAddress else { return nil }
    return cl_find(start, count, needle, wanted.count).map { $0 - start }
  }
}

extension ByteBuffer {
  /// Appends a signed number as `BlockReader.signed` reads it.
  func append(signed value: Int64) { append(small: UInt64(bitPattern: (value << 1) ^ (value >> 63))) }

  /// Appends a number as `BlockReader.varint` reads it; inline if it has one byte, as most do.
  @inline(__always)
  func append(small value: UInt64) {
    if value < 0x80 { append(UInt8(truncatingIfNeeded: value)) } else { append(varint: value) }
  }
}
