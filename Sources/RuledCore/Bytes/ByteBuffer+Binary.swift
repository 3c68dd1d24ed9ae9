extension ByteBuffer {
  /// Appends the eight bytes of `value`, the most significant first.
  @inlinable
  public func append(bigEndian value: UInt64) {
    reserve(8)
    UnsafeMutableRawPointer(base + count).storeBytes(of: value.bigEndian, as: UInt64.self)
    advance(8)
  }

  /// Appends the four bytes of `value`, the most significant first.
  @inlinable
  public func append(bigEndian value: UInt32) {
    reserve(4)
    UnsafeMutableRawPointer(base + count).storeBytes(of: value.bigEndian, as: UInt32.self)
    advance(4)
  }

  /// Appends `value` in groups of seven bits, the least significant first, each but the last with its high bit set.
  @inlinable
  public func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }
}
