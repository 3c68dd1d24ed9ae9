/// Reads big-endian numbers and counted strings from bytes that may be anything, from front to back and never past their end.
///
/// Each method returns nil if what it should read is not there.
@frozen
public struct BytesReader {
  @usableFromInline let bytes: ByteView
  @usableFromInline var offset = 0

  /// A reader at the beginning of `bytes`.
  @inlinable public init(_ bytes: ByteView) { self.bytes = bytes }

  /// Whether everything has been read.
  @inlinable public var isAtEnd: Bool { offset == bytes.count }

  /// Reads one byte.
  @inlinable public mutating func byte() -> UInt8? {
    guard offset < bytes.count else { return nil }
    defer { offset += 1 }
    return bytes[offset]
  }

  /// Reads four bytes, the most significant first.
  @inlinable public mutating func word32() -> UInt32? {
    guard bytes.count - offset >= 4 else { return nil }
    defer { offset += 4 }
    return UInt32(bigEndian: bytes.load(at: offset, as: UInt32.self))
  }

  /// Reads eight bytes, the most significant first.
  @inlinable public mutating func word() -> UInt64? {
    guard bytes.count - offset >= 8 else { return nil }
    defer { offset += 8 }
    return UInt64(bigEndian: bytes.load(at: offset, as: UInt64.self))
  }

  /// Reads a signed number of eight bytes.
  @inlinable public mutating func signed() -> Int64? { word().map { Int64(bitPattern: $0) } }

  /// Reads a length of four bytes, and as many bytes.
  @inlinable public mutating func string() -> ByteView? {
    guard let length = word32(), Int(length) <= bytes.count - offset else { return nil }
    defer { offset += Int(length) }
    return bytes.extracting(offset..<offset + Int(length))
  }

  /// Reads a length of four bytes, and as many bytes as text; malformed UTF-8 is repaired.
  @inlinable public mutating func text() -> String? { string().map { String(decoding: $0, as: UTF8.self) } }

  /// Reads all that is left.
  @inlinable public mutating func rest() -> ByteView {
    defer { offset = bytes.count }
    return bytes.extracting(offset..<bytes.count)
  }
}

extension ByteBuffer {
  /// Appends the number of bytes, in four bytes, and the bytes, as `BytesReader.string` reads them.
  @inlinable public func append(counted bytes: ByteView) {
    append(bigEndian: UInt32(bytes.count))
    append(bytes)
  }

  /// Appends the number of bytes, in four bytes, and the bytes, as `BytesReader.string` reads them.
  @inlinable public func append(counted bytes: [UInt8]) { bytes.withView { append(counted: $0) } }

  /// Appends the number of bytes, in four bytes, and the UTF-8 of the text, as `BytesReader.text` reads it.
  public func append(counted text: String) { text.withView { append(counted: $0) } }

  /// Appends the eight bytes of a signed number, the most significant first.
  @inlinable public func append(bigEndian value: Int64) { append(bigEndian: UInt64(bitPattern: value)) }
}
