import RuledCore

/// One part of the entries of a block, each as what differs from the one before it.
///
/// That is how many bytes both begin with and how many both end with, as varints, and the string between.
struct RepeatedPart {
  private var last = ByteBuffer(capacity: 256)
  /// Where the next one is put together.
  private var next = ByteBuffer(capacity: 256)

  /// How many bytes the last one and that before it both began with, and ended with: the next ones often have as many in common.
  private var expected = (prefix: 0, suffix: 0)

  /// Appends the next one.
  mutating func write(_ bytes: ByteView, into buffer: ByteBuffer) {
    let before = last.bytes
    let shorter = min(before.count, bytes.count)
    let prefix = Self.commonPrefix(of: before, bytes, expected.prefix)
    let suffix = Self.commonSuffix(of: before, bytes, expected.suffix, most: shorter - prefix)
    expected = (prefix, suffix)
    buffer.append(small: UInt64(prefix))
    buffer.append(small: UInt64(suffix))
    buffer.append(small: UInt64(bytes.count - prefix - suffix))
    buffer.append(bytes.extracting(prefix..<bytes.count - suffix))
    last.removeAll()
    last.append(bytes)
  }

  /// What both begin with, found by comparing as many bytes at once as are expected.
  private static func commonPrefix(of left: ByteView, _ right: ByteView, _ expected: Int) -> Int {
    let known = min(expected, left.count, right.count)
    guard ByteOrder.equal(left.extracting(first: known), right.extracting(first: known)) else {
      return ByteOrder.commonPrefix(of: left, right, most: known)
    }
    return known
      + ByteOrder.commonPrefix(of: left.extracting(droppingFirst: known), right.extracting(droppingFirst: known))
  }

  /// What both end with, found likewise.
  private static func commonSuffix(of left: ByteView, _ right: ByteView, _ expected: Int, most: Int) -> Int {
    let known = min(expected, most)
    guard ByteOrder.equal(left.extracting((left.count - known)...), right.extracting((right.count - known)...)) else {
      return ByteOrder.commonSuffix(of: left, right, most: known)
    }
    let (left, right) = (left.extracting(first: left.count - known), right.extracting(first: right.count - known))
    return known + ByteOrder.commonSuffix(of: left, right, most: most - known)
  }

  /// Reads the next one, valid until the one after it; nil where the bytes are none.
  mutating func read(_ reader: inout BlockReader) -> ByteView? {
    let before = last.bytes
    guard let prefix = reader.varint(), let suffix = reader.varint(), let middle = reader.string(),
      prefix <= UInt64(before.count), suffix <= UInt64(before.count) - prefix
    else { return nil }
    next.removeAll()
    next.append(before.extracting(first: Int(prefix)))
    next.append(middle)
    next.append(before.extracting((before.count - Int(suffix))...))
    swap(&last, &next)
    return last.bytes
  }
}
