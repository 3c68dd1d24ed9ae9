import RuledCore

/// Bytes under bytes, in the order of their keys.
///
/// The entries lie in sorted chunks of bounded length, so that a write moves little and a copy of the map shares all
/// chunks that are not written afterwards.
struct SortedMap: Sendable {
  /// A key with its value.
  struct Entry: Sendable {
    /// What the entry is found by.
    let key: [UInt8]
    /// What stands under the key.
    var value: [UInt8]
  }

  /// Where an entry is: in which chunk, and where in it.
  struct Position: Sendable {
    /// The index of the chunk; the number of chunks at the end.
    var chunk: Int
    /// The index in the chunk.
    var entry: Int
  }

  private static let longestChunk = 256

  private var chunks: [[Entry]] = []
  /// How many bytes all keys and values have.
  private(set) var byteCount = 0

  /// The entry at `position`; nil at the end.
  subscript(position: Position) -> Entry? {
    position.chunk < chunks.count ? chunks[position.chunk][position.entry] : nil
  }

  /// The first position whose key is not below `key`, and whether it is the key itself.
  ///
  /// - Complexity: O(log n)
  func find(_ key: UnsafeRawBufferPointer) -> (position: Position, found: Bool) {
    var (place, found) = locate(key)
    if place.chunk < chunks.count, place.entry == chunks[place.chunk].count {
      place = Position(chunk: place.chunk + 1, entry: 0)
      found = false
    }
    return (place, found)
  }

  /// The position behind `position`, which must not be the end.
  func position(after position: Position) -> Position {
    let next = Position(chunk: position.chunk, entry: position.entry + 1)
    return next.entry < chunks[next.chunk].count ? next : Position(chunk: next.chunk + 1, entry: 0)
  }

  /// Puts `value` under `key`.
  ///
  /// - Complexity: O(log n), besides moving the entries of one chunk.
  mutating func set(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    let (place, found) = locate(key)
    if found {
      byteCount += value.count - chunks[place.chunk][place.entry].value.count
      chunks[place.chunk][place.entry].value = Array(value)
      return
    }
    byteCount += key.count + value.count
    let entry = Entry(key: Array(key), value: Array(value))
    guard place.chunk < chunks.count else {
      chunks.append([entry])
      return
    }
    chunks[place.chunk].insert(entry, at: place.entry)
    if chunks[place.chunk].count > Self.longestChunk { split(place.chunk) }
  }

  /// Removes `key`, if it is there.
  mutating func remove(_ key: UnsafeRawBufferPointer) {
    let (place, found) = locate(key)
    guard found else { return }
    removeEntries(place.entry..<place.entry + 1, ofChunk: place.chunk)
    if chunks[place.chunk].isEmpty { chunks.remove(at: place.chunk) }
  }

  /// Removes the entries from `lower` on and below `upper` for which `condition` holds.
  mutating func remove(from lower: [UInt8], to upper: [UInt8], where condition: (Entry) -> Bool) {
    var place = lower.withUnsafeBytes { find($0).position }
    var doomed: [[UInt8]] = []
    while let entry = self[place], entry.key.lexicographicallyPrecedes(upper) {
      if condition(entry) { doomed.append(entry.key) }
      place = position(after: place)
    }
    for key in doomed { key.withUnsafeBytes { remove($0) } }
  }

  /// Where `key` is or belongs; behind the last entry of a chunk rather than before the first of the next.
  private func locate(_ key: UnsafeRawBufferPointer) -> (place: Position, found: Bool) {
    var low = 0
    var high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if compare(Position(chunk: middle, entry: 0), key) <= 0 { low = middle + 1 } else { high = middle }
    }
    guard !chunks.isEmpty else { return (Position(chunk: 0, entry: 0), false) }
    let chunk = max(low - 1, 0)
    low = 0
    high = chunks[chunk].count
    while low < high {
      let middle = (low + high) / 2
      let order = compare(Position(chunk: chunk, entry: middle), key)
      if order == 0 { return (Position(chunk: chunk, entry: middle), true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (Position(chunk: chunk, entry: low), false)
  }

  private func compare(_ place: Position, _ key: UnsafeRawBufferPointer) -> Int {
    chunks[place.chunk][place.entry].key.withUnsafeBytes { ByteOrder.compare($0, key) }
  }

  private mutating func removeEntries(_ range: Range<Int>, ofChunk chunk: Int) {
    for entry in chunks[chunk][range] { byteCount -= entry.key.count + entry.value.count }
    chunks[chunk].removeSubrange(range)
  }

  private mutating func split(_ chunk: Int) {
    let half = chunks[chunk].count / 2
    let upper = Array(chunks[chunk][half...])
    chunks[chunk].removeSubrange(half...)
    chunks.insert(upper, at: chunk + 1)
  }
}
