import RuledCore

/// One part of the entries of a block, each as what differs from the one before it.
///
/// That is how many bytes both begin with and how many both end with, as varints, and the string between.
struct RepeatedPart {
  private var last = ByteBuffer(capacity: 256)
  /// Where the next one is put together.
  private var next = ByteBuffer(capacity: 256)

  /// Appends the next one.
  mutating func write(_ bytes: ByteView, into buffer: ByteBuffer) {
    let before = last.bytes
    let prefix = ByteOrder.commonPrefix(of: before, bytes)
    let suffix = ByteOrder.commonSuffix(of: before, bytes, most: min(before.count, bytes.count) - prefix)
    buffer.append(small: UInt64(prefix))
    buffer.append(small: UInt64(suffix))
    buffer.append(small: UInt64(bytes.count - prefix - suffix))
    buffer.append(bytes.extracting(prefix..<bytes.count - suffix))
    last.removeAll()
    last.append(bytes)
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
