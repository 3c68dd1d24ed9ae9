public import Glibc

/// The order of keys and names: by unsigned bytes, a prefix before everything that it begins.
public enum ByteOrder {
  /// Below 0 when `left` comes first, 0 when they are equal, else above 0.
  @inlinable public static func compare(_ left: ByteView, _ right: ByteView) -> Int {
    let common = min(left.count, right.count)
    if common > 0, let leftStart = left.baseAddress, let rightStart = right.baseAddress {
      let difference = memcmp(leftStart, rightStart, common)
      if difference != 0 { return Int(difference) }
    }
    return left.count - right.count
  }

  @inlinable public static func equal(_ left: ByteView, _ right: ByteView) -> Bool {
    left.count == right.count && compare(left, right) == 0
  }

  @inlinable public static func commonPrefix(of left: ByteView, _ right: ByteView, most: Int = .max) -> Int {
    let limit = min(most, left.count, right.count)
    var length = 0
    while length + 8 <= limit {
      let difference =
        left.load(uncheckedAt: length, as: UInt64.self) ^ right.load(uncheckedAt: length, as: UInt64.self)
      guard difference == 0 else { return length + UInt64(littleEndian: difference).trailingZeroBitCount / 8 }
      length += 8
    }
    while length < limit, left[length] == right[length] { length += 1 }
    return length
  }

  @inlinable public static func commonSuffix(of left: ByteView, _ right: ByteView, most: Int = .max) -> Int {
    let limit = min(most, left.count, right.count)
    var length = 0
    while length + 8 <= limit {
      let difference =
        left.load(uncheckedAt: left.count - length - 8, as: UInt64.self)
        ^ right.load(uncheckedAt: right.count - length - 8, as: UInt64.self)
      guard difference == 0 else { return length + UInt64(littleEndian: difference).leadingZeroBitCount / 8 }
      length += 8
    }
    while length < limit, left[left.count - length - 1] == right[right.count - length - 1] { length += 1 }
    return length
  }
}
