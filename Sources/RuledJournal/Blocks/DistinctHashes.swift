/// The set of the hashes of a block's subjects: a table with open addressing, which takes a fraction of the time of sorting.
struct DistinctHashes {
  /// The hashes, and `free` between them.
  private(set) var slots: [UInt64]
  private(set) var count = 0

  /// A slot without a hash.
  static let free: UInt64 = 0
  private static let fewest = 1 << 12

  init() { slots = [UInt64](repeating: Self.free, count: Self.fewest) }

  mutating func insert(_ hash: UInt64) {
    if 2 * count >= slots.count { grow() }
    let mask = slots.count - 1
    var index = Int(truncatingIfNeeded: hash) & mask
    while slots[index] != Self.free {
      if slots[index] == hash { return }
      index = (index + 1) & mask
    }
    slots[index] = hash
    count += 1
  }

  mutating func removeAll() { self = DistinctHashes() }

  private mutating func grow() {
    let old = slots
    slots = [UInt64](repeating: Self.free, count: 2 * old.count)
    count = 0
    for hash in old where hash != Self.free { insert(hash) }
  }
}
