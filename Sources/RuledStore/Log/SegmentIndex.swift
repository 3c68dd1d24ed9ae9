import CLinux
import Glibc
import RuledCore

/// Finds the last committed write on each key in a segment: a hash table with open addressing.
struct SegmentIndex {
  struct Slot {
    /// The write's offset in the segment; 0 for a free slot.
    var offset: UInt32
    /// A part of the key's hash.
    var hash: UInt32
    /// The key's `KeyScope.tag`.
    var subject: UInt32
    /// The key's first byte.
    var kind: UInt8
  }

  private(set) var slots: UnsafeMutableBufferPointer<Slot>
  private(set) var count = 0
  private var mask: Int
  private var isGrown = false
  /// Random, so that clients, who don't know it, can't choose keys that share a slot.
  private let seed = SegmentIndex.processSeed
  private static let processSeed = UInt64.random(in: .min ... .max)

  /// An empty table in `slots`, a power of two of free ones; its owner calls `deallocate`.
  init(in slots: UnsafeMutableBufferPointer<Slot>) {
    self.slots = slots
    mask = slots.count - 1
  }

  /// Frees the memory that it allocated itself; this is the last call.
  func deallocate() {
    if isGrown { free(slots.baseAddress) }
  }

  /// The offset of the last write on `key`; 0 when there is none.
  ///
  /// - Complexity: O(1) on average, as the table is at most two thirds full; each slot that is looked at compares 4 bytes, and the key when they are the same.
  func find(_ key: ByteView, in base: UnsafeRawPointer) -> Int {
    let hash = hash64(key, seed: seed)
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots[slot].offset != 0 {
      if slots[slot].hash == UInt32(truncatingIfNeeded: hash >> 32), holds(key, in: slot, base: base) {
        return Int(slots[slot].offset)
      }
      slot = (slot + 1) & mask
    }
    return 0
  }

  /// How many bytes the table has.
  var bytes: Int { slots.count * MemoryLayout<Slot>.stride }

  /// The offsets of the last writes at or behind `start` whose kind and tag are wanted, in no order.
  ///
  /// - Complexity: O(slots).
  func offsets(from start: Int, _ isWanted: (_ kind: UInt8, _ tag: UInt32) -> Bool) -> [UInt32] {
    var found: [UInt32] = []
    for slot in slots where slot.offset != 0 && slot.offset >= start {
      if isWanted(slot.kind, slot.subject) { found.append(slot.offset) }
    }
    return found
  }

  /// Prefetches the slot of a key; gives the key's hash.
  func prefetchSlot(of key: ByteView) -> UInt64 {
    let hash = hash64(key, seed: seed)
    cl_prefetch(slots.baseAddress.map { $0 + (Int(truncatingIfNeeded: hash) & mask) })
    return hash
  }

  /// Prefetches the key whose write is in the slot of that hash.
  func prefetchKey(at hash: UInt64, in base: UnsafeRawPointer) {
    cl_prefetch(base + Int(slots[Int(truncatingIfNeeded: hash) & mask].offset))
  }

  /// Notes that the last write on `key` is at `offset`; `prefetchSlot` gave the hash.
  ///
  /// - Complexity: O(1) on average; O(`count`) when the table grows, which a segment's table does rarely, as it is made for a segment of usual writes.
  mutating func set(_ key: ByteView, hash: UInt64, at offset: Int, in base: UnsafeRawPointer) {
    if count * 3 > mask * 2 { grow(in: base) }
    let check = UInt32(truncatingIfNeeded: hash >> 32)
    var slot = Int(truncatingIfNeeded: hash) & mask
    while slots[slot].offset != 0 {
      if slots[slot].hash == check, holds(key, in: slot, base: base) {
        slots[slot].offset = UInt32(offset)
        return
      }
      slot = (slot + 1) & mask
    }
    slots[slot] = Slot(offset: UInt32(offset), hash: check, subject: KeyScope.tag(key), kind: key.first ?? 0)
    count += 1
  }

  private func holds(_ key: ByteView, in slot: Int, base: UnsafeRawPointer) -> Bool {
    ByteOrder.equal(SegmentWrite.key(at: Int(slots[slot].offset), in: base), key)
  }

  private mutating func grow(in base: UnsafeRawPointer) {
    let old = slots
    guard let larger = Self.table((mask + 1) * 2) else {
      if count * 8 < mask * 7 { return }  // it still works, with longer searches
      fatalError("there is no memory for the index of the store's log; raise the limit on it (ulimit -v, MemoryMax=)")
    }
    mask = mask * 2 + 1
    slots = larger
    for moved in old where moved.offset != 0 {
      let key = SegmentWrite.key(at: Int(moved.offset), in: base)
      var slot = Int(truncatingIfNeeded: hash64(key, seed: seed)) & mask
      while slots[slot].offset != 0 { slot = (slot + 1) & mask }
      slots[slot] = moved
    }
    if isGrown { free(old.baseAddress) }
    isGrown = true
  }

  /// A table of zeros, whose memory is touched only as it is used; nil when there is no memory for it.
  static func table(_ count: Int) -> UnsafeMutableBufferPointer<Slot>? {
    guard let memory = calloc(count, MemoryLayout<Slot>.stride) else { return nil }
    return UnsafeMutableBufferPointer(start: memory.bindMemory(to: Slot.self, capacity: count), count: count)
  }
}
