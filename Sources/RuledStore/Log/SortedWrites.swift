import CLinux
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

  /// How many keys ahead of the one at hand are brought nearer: they lie further apart than the processor looks ahead by itself.
  private static let ahead = 16

  @inline(__always)
  private static func forEachKey(
    at offsets: [UInt32], in base: UnsafeRawPointer, _ body: (UnsafeRawBufferPointer, UInt32) -> Void
  ) {
    for (place, offset) in offsets.enumerated() {
      if place + ahead < offsets.count { cl_prefetch(base + Int(offsets[place + ahead])) }
      body(SegmentWrite.key(at: Int(offset), in: base), offset)
    }
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
