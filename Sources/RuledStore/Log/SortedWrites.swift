import CLinux
import RuledCore

enum SortedWrites {
  private struct Entry {
    /// The first 16 bytes behind the prefix of all keys, as numbers of the same order.
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
    forEachKey(at: offsets, in: base) { key, _ in
      shared = ByteOrder.commonPrefix(of: sample, key, most: shared)
    }
    var entries: [Entry] = []
    entries.reserveCapacity(offsets.count)
    forEachKey(at: offsets, in: base) { key, offset in
      entries.append(Entry(first: word(key, shared), second: word(key, shared + 8), offset: offset))
    }
    RadixSort.sort(&entries, bytes: 8) { $0.second }
    RadixSort.sort(&entries, bytes: 8) { $0.first }
    sortTies(&entries, in: base)
    return entries.map(\.offset)
  }

  /// How many keys ahead are prefetched: they are further apart than the processor prefetches by itself.
  private static let ahead = 16

  @inline(__always)
  private static func forEachKey(at offsets: [UInt32], in base: UnsafeRawPointer, _ body: (ByteView, UInt32) -> Void) {
    for (index, offset) in offsets.enumerated() {
      if index + ahead < offsets.count { cl_prefetch(base + Int(offsets[index + ahead])) }
      body(SegmentWrite.key(at: Int(offset), in: base), offset)
    }
  }

  /// Sorts entries with the same first bytes by their whole keys.
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

  /// The eight bytes at `offset`, zeros behind the end.
  private static func word(_ key: ByteView, _ offset: Int) -> UInt64 {
    if offset + 8 <= key.count { return UInt64(bigEndian: key.load(at: offset, as: UInt64.self)) }
    var word: UInt64 = 0
    var index = offset
    while index < key.count {
      word |= UInt64(key[index]) << UInt64(56 - 8 * (index - offset))
      index += 1
    }
    return word
  }
}
