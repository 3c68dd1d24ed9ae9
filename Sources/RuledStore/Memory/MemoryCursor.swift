import RuledCore

/// A cursor over a memory store's map as it was.
final class MemoryCursor: StoreCursor {
  private let map: SortedMap
  private let upper: [UInt8]?
  private var position = SortedMap.Position(chunk: 0, entry: 0)
  private let currentKey = ByteBuffer()
  private let currentValue = ByteBuffer()
  /// Nothing in memory is damaged.
  var passing: ((UnreadableKeys) -> Void)?

  /// A cursor over the keys of `map` below `upper`.
  init(_ map: SortedMap, below upper: [UInt8]?) {
    self.map = map
    self.upper = upper
  }

  var key: UnsafeRawBufferPointer { currentKey.bytes }

  var value: UnsafeRawBufferPointer { currentValue.bytes }

  func seek(to key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    position = map.find(key).position
    return take()
  }

  func next() throws(StoreError) -> Bool {
    position = map.position(after: position)
    return take()
  }

  private func take() -> Bool {
    guard let entry = map[position] else { return false }
    if let upper, !entry.key.lexicographicallyPrecedes(upper) { return false }
    currentKey.removeAll()
    currentValue.removeAll()
    entry.key.withUnsafeBytes { currentKey.append($0) }
    entry.value.withUnsafeBytes { currentValue.append($0) }
    return true
  }
}
