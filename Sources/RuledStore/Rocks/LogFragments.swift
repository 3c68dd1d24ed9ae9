/// The fragments in one block of a RocksDB log.
struct LogFragments {
  /// A piece of a batch.
  struct Fragment {
    /// Where its header begins in the block.
    let offset: Int
    /// Whether it is the first piece of its batch.
    let beginsBatch: Bool
    /// Its bytes without the header.
    let payload: UnsafeRawBufferPointer
  }

  private let block: UnsafeRawBufferPointer
  private var offset = 0

  /// The fragments of `block`, which may be shorter than a whole block at the end of the log.
  init(_ block: UnsafeRawBufferPointer) { self.block = block }

  /// The next fragment; nil at the end of the block, at room that was never written and at a torn fragment, of which
  /// the bytes that are there count when they hold a sequence number.
  mutating func next() -> Fragment? {
    guard offset + 7 <= block.count else { return nil }
    let length = Int(block[offset + 4]) | Int(block[offset + 5]) << 8
    let kind = block[offset + 6]
    let header = kind >= 5 && kind <= 8 ? 11 : 7
    guard kind != 0, offset + header <= block.count else { return nil }
    let start = offset
    offset = min(offset + header + length, block.count)
    let payload = UnsafeRawBufferPointer(rebasing: block[(start + header)..<offset])
    return Fragment(offset: start, beginsBatch: [1, 2, 5, 6].contains(kind), payload: payload)
  }
}
