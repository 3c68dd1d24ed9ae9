import Glibc
import RuledCore
import Testing

@testable import RuledStore

/// The hash table that finds the writes of a segment.
struct SegmentIndexTests {
  private static let slotCount = 256

  /// Keys that share one slot of a table with that seed.
  private static func collidingKeys(_ count: Int, seed: UInt64) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    for number in 0... where keys.count < count {
      let key = Array("rdevice:\(number)".utf8)
      if key.withView({ hash64($0, seed: seed) }) % UInt64(slotCount) == 0 { keys.append(key) }
      if keys.count == count { break }
    }
    return keys
  }

  @Test(arguments: [UInt64(0), 1, 7])
  func `keys that a client chose to share a slot are spread over the table`(seed: UInt64) throws {
    let keys = Self.collidingKeys(Self.slotCount / 4, seed: seed)
    let set = WriteSet()
    for key in keys { set.put(key, [1]) }
    let bytes = [UInt8](repeating: 0, count: 8) + Array(set.records)
    var index = SegmentIndex(in: try #require(SegmentIndex.table(Self.slotCount)))
    let slots = index.slots
    defer { free(slots.baseAddress) }
    try bytes.withView { bytes in
      let base = try #require(bytes.baseAddress)
      var offset = 8
      while offset < bytes.count {
        let key = SegmentWrite.key(at: offset, in: base)
        index.set(key, hash: index.prefetchSlot(of: key), at: offset, in: base)
        SegmentWrite.skip(&offset, in: base)
      }
      for key in keys { #expect(key.withView { index.find($0, in: base) } >= 8) }
    }
    var (run, longest) = (0, 0)
    for slot in index.slots {
      run = slot.offset == 0 ? 0 : run + 1
      longest = max(longest, run)
    }
    #expect(longest < Self.slotCount / 8, "a search reads up to \(longest) slots")
  }
}
