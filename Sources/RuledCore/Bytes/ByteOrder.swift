public import Glibc

/// The order of bytes, as keys and names have it: unsigned, a prefix before what it begins.
public enum ByteOrder {
  /// Below zero when `left` comes first, zero when they are equal, else above.
  @inlinable public static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let shared = min(left.count, right.count)
    if shared > 0, let leftStart = left.baseAddress, let rightStart = right.baseAddress {
      let difference = memcmp(leftStart, rightStart, shared)
      if difference != 0 { return Int(difference) }
    }
    return left.count - right.count
  }

  /// Whether both hold the same bytes.
  @inlinable public static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    left.count == right.count && compare(left, right) == 0
  }

  /// How many bytes both begin with, `most` at most.
  @inlinable public static func commonPrefix(
    of left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, most: Int = .max
  ) -> Int {
    let limit = min(most, left.count, right.count)
    var length = 0
    while length + 8 <= limit {
      let difference =
        left.loadUnaligned(fromByteOffset: length, as: UInt64.self)
        ^ right.loadUnaligned(fromByteOffset: length, as: UInt64.self)
      guard difference == 0 else { return length + UInt64(littleEndian: difference).trailingZeroBitCount / 8 }
      length += 8
    }
    while length < limit, left[length] == right[length] { length += 1 }
    return length
  }
}
