import CLinux
import RuledCore

/// Writes of a segment in the order of their keys, by their offsets.
///
/// Copies have unchanged parts in common, so that a cursor keeps the writes that it began with.
struct OrderedWrites {
  /// A position among the writes.
  typealias Position = SortedChunks<UInt32>.Position

  private static let longestChunk = 512

  private var offsets: SortedChunks<UInt32>

  init() { offsets = SortedChunks(longestChunk: Self.longestChunk) }

  /// Writes that are sorted already.
  init(sorted writes: [UInt32]) { offsets = SortedChunks(sorted: writes, longestChunk: Self.longestChunk) }

  /// The offset of the write at `position`; nil behind the last.
  subscript(position: Position) -> Int? { offsets[position].map { Int($0) } }

  /// The position of the first write whose key is not below `key`.
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

  /// How many keys ahead are prefetched: they are further apart than the processor prefetches by itself.
  private static let ahead = 16

  @inline(__always)
  private static func forEachKey(
    at offsets: [UInt32], in base: UnsafeRawPointer, _ body: (ByteView, UInt32) -> Void
  ) {
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

/// Sorts by numbers, byte by byte from the lowest: several times faster than by comparing, when there are many.
enum RadixSort {
  /// Sorts `elements` by what `number` gives for each, of which the lowest `bytes` bytes count; equal ones keep their order.
  @inline(__always)
  static func sort<Element: BitwiseCopyable>(
    _ elements: inout [Element], bytes: Int, by number: (Element) -> UInt64
  ) {
    guard elements.count > 1 else { return }
    var varying: UInt64 = 0
    let sample = number(elements[0])
    for element in elements { varying |= number(element) ^ sample }
    var other = elements
    var counts = [Int](repeating: 0, count: 256)
    for byte in 0..<bytes where (varying >> UInt64(8 * byte)) & 0xFF != 0 {
      let shift = UInt64(8 * byte)
      elements.withUnsafeBufferPointer { from in
        other.withUnsafeMutableBufferPointer { to in
          counts.withUnsafeMutableBufferPointer { counts in
            counts.update(repeating: 0)
            for element in from { counts[Int(truncatingIfNeeded: (number(element) >> shift) & 0xFF)] += 1 }
            var sum = 0
            for digit in 0..<256 {
              let count = counts[digit]
              counts[digit] = sum
              sum += count
            }
            for element in from {
              let digit = Int(truncatingIfNeeded: (number(element) >> shift) & 0xFF)
              to[counts[digit]] = element
              counts[digit] += 1
            }
          }
        }
      }
      swap(&elements, &other)
    }
  }
}
