import RuledCore

/// Bytes under bytes, in the order of their keys; a copy shares what neither writes afterwards.
struct SortedMap: Sendable {
  /// A key with its value.
  struct Entry: Sendable {
    /// The key.
    let key: [UInt8]
    /// The value.
    var value: [UInt8]
  }

  /// A position among the entries.
  typealias Position = SortedChunks<Entry>.Position

  private var entries = SortedChunks<Entry>(longestChunk: 256)
  /// How many bytes all keys and values have.
  private(set) var byteCount = 0

  /// The entry at `position`; nil at the end.
  subscript(position: Position) -> Entry? { entries[position] }

  /// The position of the first entry whose key is not below `key`.
  func find(_ key: UnsafeRawBufferPointer) -> Position { entries.find { Self.compare($0, key) } }

  /// The position behind `position`, which is not the end.
  func position(after position: Position) -> Position { entries.position(after: position) }

  /// The value under `key`; nil when there is none.
  func value(of key: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let entry = self[find(key)], Self.compare(entry, key) == 0 else { return nil }
    return entry.value
  }

  /// Puts `value` under `key`.
  mutating func set(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    var growth = key.count + value.count
    entries.set {
      Self.compare($0, key)
    } replace: { entry in
      growth -= Self.byteCount(entry)
      entry.value = Array(value)
    } make: {
      Entry(key: Array(key), value: Array(value))
    }
    byteCount += growth
  }

  /// Removes `key`, if it is there.
  mutating func remove(_ key: UnsafeRawBufferPointer) {
    if let removed = entries.remove({ Self.compare($0, key) }) { byteCount -= Self.byteCount(removed) }
  }

  /// Removes the entries from `lower` on and below `upper` that meet `condition`.
  mutating func remove(from lower: [UInt8], to upper: [UInt8], where condition: (Entry) -> Bool) {
    var position = lower.withUnsafeBytes { find($0) }
    var doomed: [[UInt8]] = []
    while let entry = self[position], entry.key.lexicographicallyPrecedes(upper) {
      if condition(entry) { doomed.append(entry.key) }
      position = self.position(after: position)
    }
    for key in doomed { key.withUnsafeBytes { remove($0) } }
  }

  private static func compare(_ entry: Entry, _ key: UnsafeRawBufferPointer) -> Int {
    entry.key.withUnsafeBytes { ByteOrder.compare($0, key) }
  }

  private static func byteCount(_ entry: Entry) -> Int { entry.key.count + entry.value.count }
}
