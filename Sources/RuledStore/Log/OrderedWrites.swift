import RuledCore

/// Writes of a segment in the order of their keys, by where they stand.
///
/// Copies share what is not changed afterwards, so that a cursor keeps what it began with. The writes lie in sorted chunks of
/// bounded length.
struct OrderedWrites {
  /// A place among the writes.
  struct Position {
    /// Which chunk.
    var chunk = 0
    /// Which of its writes.
    var entry = 0
  }

  private static let longestChunk = 512

  private var chunks: [[UInt32]] = []

  /// No writes.
  init() {}

  /// Writes that are sorted already.
  init(sorted writes: [UInt32]) { chunks = writes.isEmpty ? [] : [writes] }

  /// Where the write at `position` stands; nil behind the last.
  subscript(position: Position) -> Int? {
    position.chunk < chunks.count ? Int(chunks[position.chunk][position.entry]) : nil
  }

  /// The first write whose key is not below `key`.
  func find(_ key: UnsafeRawBufferPointer, in base: UnsafeRawPointer) -> Position {
    var place = locate(key, in: base).place
    if place.chunk < chunks.count, place.entry == chunks[place.chunk].count {
      place = Position(chunk: place.chunk + 1, entry: 0)
    }
    return place
  }

  /// The place behind `position`, which is not the end.
  func position(after position: Position) -> Position {
    let next = Position(chunk: position.chunk, entry: position.entry + 1)
    return next.entry < chunks[next.chunk].count ? next : Position(chunk: next.chunk + 1, entry: 0)
  }

  /// Lets the write at `offset` be the last on `key`.
  mutating func set(_ key: UnsafeRawBufferPointer, at offset: Int, in base: UnsafeRawPointer) {
    let (place, found) = locate(key, in: base)
    if found {
      chunks[place.chunk][place.entry] = UInt32(offset)
      return
    }
    guard place.chunk < chunks.count else {
      chunks.append([UInt32(offset)])
      return
    }
    chunks[place.chunk].insert(UInt32(offset), at: place.entry)
    if chunks[place.chunk].count > Self.longestChunk {
      let half = Array(chunks[place.chunk][(Self.longestChunk / 2)...])
      chunks[place.chunk].removeSubrange((Self.longestChunk / 2)...)
      chunks.insert(half, at: place.chunk + 1)
    }
  }

  /// Where `key` is or belongs; behind the last write of a chunk rather than before the first of the next.
  private func locate(
    _ key: UnsafeRawBufferPointer, in base: UnsafeRawPointer
  ) -> (place: Position, found: Bool) {
    guard !chunks.isEmpty else { return (Position(), false) }
    func order(_ offset: UInt32) -> Int { ByteOrder.compare(SegmentWrite.key(at: Int(offset), in: base), key) }
    var low = 0
    var high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if order(chunks[middle][0]) <= 0 { low = middle + 1 } else { high = middle }
    }
    let chunk = max(low - 1, 0)
    low = 0
    high = chunks[chunk].count
    while low < high {
      let middle = (low + high) / 2
      let difference = order(chunks[chunk][middle])
      if difference == 0 { return (Position(chunk: chunk, entry: middle), true) }
      if difference < 0 { low = middle + 1 } else { high = middle }
    }
    return (Position(chunk: chunk, entry: low), false)
  }
}
