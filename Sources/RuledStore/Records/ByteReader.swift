internal import RuledCore

/// Reads stored bytes from front to back and never past their end.
struct ByteReader {
  private let bytes: ByteView
  private(set) var offset = 0

  init(_ bytes: ByteView) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }

  mutating func byte(_ part: StaticString) throws(StoreError) -> UInt8 {
    guard offset < bytes.count else { throw truncated(part) }
    defer { offset += 1 }
    return bytes[offset]
  }

  /// Reads a number as `append(varint:)` writes it.
  @inline(__always)
  mutating func varint(_ part: StaticString) throws(StoreError) -> UInt64 {
    guard offset < bytes.count, bytes[offset] < 0x80 else { return try longVarint(part) }
    defer { offset += 1 }
    return UInt64(bytes[offset])
  }

  /// Reads a number that may have several bytes.
  private mutating func longVarint(_ part: StaticString) throws(StoreError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let next = try byte(part)
      let group = UInt64(next & 0x7F)
      guard shift < 63 || (shift == 63 && group <= 1) else { throw StoreError(.corrupt, "\(part) is out of range") }
      value |= group << shift
      if next < 0x80 { return value }
      shift += 7
    }
  }

  mutating func take(_ count: Int, _ part: StaticString) throws(StoreError) -> ByteView {
    guard count <= bytes.count - offset else { throw truncated(part) }
    defer { offset += count }
    return bytes.extracting(offset..<offset + count)
  }

  /// Reads a length and as many bytes.
  mutating func string(_ part: StaticString) throws(StoreError) -> ByteView {
    let length = try varint(part)
    guard let count = Int(exactly: length) else { throw truncated(part) }
    return try take(count, part)
  }

  private func truncated(_ part: StaticString) -> StoreError {
    StoreError(.corrupt, "\(part) goes past the end of its \(bytes.count) bytes")
  }
}
