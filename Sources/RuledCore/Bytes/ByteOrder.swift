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
}
