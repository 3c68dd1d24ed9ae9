import CLinux
import Glibc
import RuledCore

/// Where the last write on each key stands in a segment of the log: a table with open addressing.
struct SegmentIndex {
  /// One place of the table.
  struct Slot {
    /// Where the write stands in the segment; 0 for a free place.
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

  /// An empty table in `slots`, a power of two of free places; its owner calls `deallocate`.
  init(in slots: UnsafeMutableBufferPointer<Slot>) {
    self.slots = slots
    mask = slots.count - 1
  }

  /// Gives the memory back that it took beyond what it was given; nothing may be called after it.
  func deallocate() {
    if isGrown { free(slots.baseAddress) }
  }

  /// Where the last write on `key` stands, 0 when there is none.
  func find(_ key: UnsafeRawBufferPointer, in base: UnsafeRawPointer) -> Int {
    let hash = hash64(key)
    var place = Int(truncatingIfNeeded: hash) & mask
    while slots[place].offset != 0 {
      if slots[place].hash == UInt32(truncatingIfNeeded: hash >> 32), holds(key, at: place, in: base) {
        return Int(slots[place].offset)
      }
      place = (place + 1) & mask
    }
    return 0
  }

  /// The hash of a key, and on the way to the cache the place where it belongs.
  func begin(_ key: UnsafeRawBufferPointer) -> UInt64 {
    let hash = hash64(key)
    cl_prefetch(slots.baseAddress.map { $0 + (Int(truncatingIfNeeded: hash) & mask) })
    return hash
  }

  /// Brings the key nearer that may stand where one of that hash belongs.
  func approach(_ hash: UInt64, in base: UnsafeRawPointer) {
    cl_prefetch(base + Int(slots[Int(truncatingIfNeeded: hash) & mask].offset))
  }

  /// Notes that the last write on `key`, of which `begin` gave the hash, stands at `offset`.
  mutating func set(_ key: UnsafeRawBufferPointer, hash: UInt64, at offset: Int, in base: UnsafeRawPointer) {
    if count * 3 > mask * 2 { grow(in: base) }
    let check = UInt32(truncatingIfNeeded: hash >> 32)
    var place = Int(truncatingIfNeeded: hash) & mask
    while slots[place].offset != 0 {
      if slots[place].hash == check, holds(key, at: place, in: base) {
        slots[place].offset = UInt32(offset)
        return
      }
      place = (place + 1) & mask
    }
    slots[place] = Slot(offset: UInt32(offset), hash: check, subject: KeyScope.tag(key), kind: key.first ?? 0)
    count += 1
  }

  private func holds(_ key: UnsafeRawBufferPointer, at place: Int, in base: UnsafeRawPointer) -> Bool {
    ByteOrder.equal(SegmentWrite.key(at: Int(slots[place].offset), in: base), key)
  }

  private mutating func grow(in base: UnsafeRawPointer) {
    let old = slots
    guard let larger = Self.table((mask + 1) * 2) else {
      if count * 8 < mask * 7 { return }  // it still works, with longer searches
      fatalError("there is no memory for the index of the store's log; raise the limit on it (ulimit -v, MemoryMax=)")
    }
    mask = mask * 2 + 1
    slots = larger
    for slot in old where slot.offset != 0 {
      let key = SegmentWrite.key(at: Int(slot.offset), in: base)
      var place = Int(truncatingIfNeeded: hash64(key)) & mask
      while slots[place].offset != 0 { place = (place + 1) & mask }
      slots[place] = slot
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

/// Reading the writes of a segment by where they stand.
enum SegmentWrite {
  /// The key of the write at `offset`.
  static func key(at offset: Int, in base: UnsafeRawPointer) -> UnsafeRawBufferPointer {
    entry(at: offset, in: base).key
  }

  /// The key of the write at `offset`, and the value that it puts there; nil when it removes the key.
  static func entry(
    at offset: Int, in base: UnsafeRawPointer
  ) -> (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    var place = offset
    switch WriteBatch.record(in: base, at: &place) {
    case .put(let key, let value): return (key, value)
    case .delete(let key): return (key, nil)
    }
  }

  /// Moves `offset` behind the write that stands there.
  static func pass(_ offset: inout Int, in base: UnsafeRawPointer) { _ = WriteBatch.record(in: base, at: &offset) }

  /// The value that the write at `offset` puts; nil when it removes its key.
  static func value(at offset: Int, in base: UnsafeRawPointer) -> UnsafeRawBufferPointer? {
    entry(at: offset, in: base).value
  }
}
