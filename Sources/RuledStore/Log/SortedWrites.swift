import RuledCore

/// Sorts writes by their keys.
enum SortedWrites {
  private struct Entry {
    /// The first 16 bytes behind what all keys share, as numbers that order as the bytes do.
    var first: UInt64
    var second: UInt64
    var offset: UInt32
  }

  /// The writes at `offsets`, each on a key of its own, in the order of their keys.
  static func sort(_ offsets: [UInt32], in base: UnsafeRawPointer) -> [UInt32] {
    guard let any = offsets.first else { return [] }
    var offsets = offsets
    RadixSort.sort(&offsets, bytes: 4) { UInt64($0) }  // so that memory is read from front to back
    let sample = SegmentWrite.key(at: Int(any), in: base)
    var shared = sample.count
    for offset in offsets {
      shared = ByteOrder.commonPrefix(of: sample, SegmentWrite.key(at: Int(offset), in: base), most: shared)
    }
    var entries = offsets.map { offset in
      let key = SegmentWrite.key(at: Int(offset), in: base)
      return Entry(first: word(key, shared), second: word(key, shared + 8), offset: offset)
    }
    RadixSort.sort(&entries, bytes: 8) { $0.second }
    RadixSort.sort(&entries, bytes: 8) { $0.first }
    sortTies(&entries, in: base)
    return entries.map(\.offset)
  }

  /// Sorts by the whole keys where the first bytes don't tell.
  private static func sortTies(_ entries: inout [Entry], in base: UnsafeRawPointer) {
    var start = 0
    while start < entries.count {
      var end = start + 1
      while end < entries.count, entries[end].first == entries[start].first,
        entries[end].second == entries[start].second
      {
        end += 1
      }
      if end - start > 1 {
        entries[start..<end].sort { left, right in
          let keys = (
            SegmentWrite.key(at: Int(left.offset), in: base), SegmentWrite.key(at: Int(right.offset), in: base)
          )
          return ByteOrder.compare(keys.0, keys.1) < 0
        }
      }
      start = end
    }
  }

  /// The eight bytes at `place`, zeros behind the end.
  private static func word(_ key: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
    if place + 8 <= key.count { return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: place, as: UInt64.self)) }
    var word: UInt64 = 0
    var index = place
    while index < key.count {
      word |= UInt64(key[index]) << UInt64(56 - 8 * (index - place))
      index += 1
    }
    return word
  }
}
