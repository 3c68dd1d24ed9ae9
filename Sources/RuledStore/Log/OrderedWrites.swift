import RuledCore

/// Writes of a segment in the order of their keys, by their offsets.
///
/// Copies have unchanged parts in common, so that a cursor keeps the writes that it began with.
struct OrderedWrites {
  typealias Position = SortedChunks<UInt32>.Position

  private static let longestChunk = 512

  private var offsets: SortedChunks<UInt32>

  init() { offsets = SortedChunks(longestChunk: Self.longestChunk) }

  init(sorted writes: [UInt32]) { offsets = SortedChunks(sorted: writes, longestChunk: Self.longestChunk) }

  /// The offset of the write at `position`; nil behind the last.
  subscript(position: Position) -> Int? { offsets[position].map { Int($0) } }

  /// The position of the first write whose key is at or above `key`.
  func find(_ key: ByteView, in base: UnsafeRawPointer) -> Position {
    offsets.find { ByteOrder.compare(SegmentWrite.key(at: Int($0), in: base), key) }
  }

  /// The position behind `position`, which is not the end.
  func position(after position: Position) -> Position { offsets.position(after: position) }

  /// Makes the write at `offset` the last on `key`.
  mutating func set(_ key: ByteView, at offset: Int, in base: UnsafeRawPointer) {
    offsets.set {
      ByteOrder.compare(SegmentWrite.key(at: Int($0), in: base), key)
    } replace: {
      $0 = UInt32(offset)
    } make: {
      UInt32(offset)
    }
  }
}
