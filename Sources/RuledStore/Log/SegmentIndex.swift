import CLinux
import Glibc
import RuledCore

/// Finds the last committed write on each key in a segment: a hash table with open addressing.
struct SegmentIndex {
  /// One slot of the table.
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

  /// Frees the memory that it took beyond what it was given; nothing may be called after it.
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

/// Reads the writes of a segment by their offsets.
enum SegmentWrite {
  /// The key of the write at `offset`.
  static func key(at offset: Int, in base: UnsafeRawPointer) -> ByteView {
    entry(at: offset, in: base).key
  }

  /// The key of the write at `offset`, and the value that it puts there; nil when it removes the key.
  static func entry(
    at offset: Int, in base: UnsafeRawPointer
  ) -> (key: ByteView, value: ByteView?) {
    var offset = offset
    switch WriteRecords.record(in: base, at: &offset) {
    case .put(let key, let value): return (key, value)
    case .delete(let key): return (key, nil)
    case .journal: preconditionFailure("a record for the journal is not indexed")
    }
  }

  /// Moves `offset` behind the write there.
  static func skip(_ offset: inout Int, in base: UnsafeRawPointer) { _ = WriteRecords.record(in: base, at: &offset) }

  /// The value that the write at `offset` puts; nil when it removes its key.
  static func value(at offset: Int, in base: UnsafeRawPointer) -> ByteView? {
    entry(at: offset, in: base).value
  }
}

/// What the log's index knows of keys without reading them: their kind and a hash of their subject.
struct KeyScope {
  /// The first byte of the keys.
  let kind: UInt8
  /// A hash of the subject whose keys they are; 0 for all.
  let subject: UInt32

  /// The scope of all keys from `lower` on and below `upper`; nil when they are of several kinds.
  init?(from lower: ByteView, to upper: ByteView?) {
    guard let first = lower.first, let upper, let last = upper.first else { return nil }
    guard first == last || (upper.count == 1 && last == first + 1) else { return nil }
    kind = first
    guard let own = Self.subject(of: lower) else {
      subject = 0
      return
    }
    let end = own.endIndex
    let isWithin = ByteOrder.compare(upper, lower) >= 0 && Self.isWithin(upper, lower, upTo: end)
    subject = isWithin ? Self.hash(lower.extracting(own)) : 0
  }

  /// Whether all keys from `lower` on and below `upper` begin as `lower` does, up to its zero byte at `end`.
  private static func isWithin(_ upper: ByteView, _ lower: ByteView, upTo end: Int) -> Bool {
    guard upper.count > end else { return false }
    let begin = (upper.extracting(..<end), lower.extracting(..<end))
    guard ByteOrder.equal(begin.0, begin.1) else { return false }
    return upper[end] == 0 || (upper[end] == 1 && upper.count == end + 1)
  }

  /// The hash of the subject whose key it is; 0 for a key of no subject.
  @inline(__always) static func tag(_ key: ByteView) -> UInt32 {
    guard let subject = subject(of: key) else { return 0 }
    return hash(key.extracting(subject))
  }

  /// The subject whose key it is; nil for a key of no subject, and where it is no text.
  static func subjectName(of key: ByteView) -> String? {
    subject(of: key).flatMap { String(validating: key[$0], as: UTF8.self) }
  }

  private static func hash(_ subject: ByteView) -> UInt32 {
    UInt32(truncatingIfNeeded: hash64(subject, seed: 7)) | 1
  }

  /// The range of the subject in a key; nil when there is none, or not the zero byte that ends it.
  @inline(__always) private static func subject(of key: ByteView) -> Range<Int>? {
    guard let first = key.first, let kind = StoreKey.Kind(rawValue: first) else { return nil }
    let start: Int
    switch kind {
    case .record, .once, .timer, .message, .effect, .parked, .earlierEvents, .outcomeIndex: start = 1
    case .outcome: start = 1 + StoreKey.outcomeTimeBytes
    case .timerIndex, .counter, .daemon: return nil
    }
    guard key.count > start, let base = key.baseAddress, let end = memchr(base + start, 0, key.count - start) else {
      return nil
    }
    return start..<(UnsafeRawPointer(end) - base)
  }
}
