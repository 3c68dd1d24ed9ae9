internal import RuledCore

/// Finds the last write on each key of a set by a hash of the key.
///
/// Writes are added in their order and removed from the end, so that a set can be truncated to a mark: each write has the index of the one before it in its
/// chain.
struct WriteIndex {
  private struct Entry {
    let offset: Int
    let hash: UInt64
    /// The write before it in the same chain; -1 for none.
    let previous: Int32
  }

  /// The last write of each chain; -1 for none.
  private var chains: [Int32] = []
  private var entries: [Entry] = []
  /// The offset up to which the set's writes are indexed.
  private(set) var end = 0

  /// Keys the hash, so that no client can choose keys that share a chain.
  private static let seed = UInt64.random(in: .min ... .max)
  private static let leastChains = 128

  /// Removes all writes, and keeps the memory unless it is large.
  mutating func removeAll() {
    guard end > 0 else { return }
    if chains.count > 64 * Self.leastChains { self = WriteIndex() } else { truncate(to: 0) }
  }

  mutating func truncate(to offset: Int) {
    guard end > offset else { return }
    while let last = entries.last, last.offset >= offset {
      chains[chain(last.hash)] = last.previous
      entries.removeLast()
    }
    end = offset
  }

  /// Adds the writes behind `end`.
  ///
  /// - Complexity: O(1) for each, amortized.
  mutating func add(from records: WriteRecords) {
    var offset = end
    var start = offset
    while let operation = records.operation(at: &offset) {
      if case .journal = operation {} else { add(hash64(operation.key, seed: Self.seed), at: start) }
      start = offset
    }
    end = offset
  }

  /// The last write of `records` on `key`; nil when there is none.
  ///
  /// - Complexity: O(1), unless a key was written often.
  func find(_ key: ByteView, in records: WriteRecords) -> WriteOperation? {
    guard !entries.isEmpty else { return nil }
    let hash = hash64(key, seed: Self.seed)
    var index = chains[chain(hash)]
    while index >= 0 {
      let entry = entries[Int(index)]
      if entry.hash == hash {
        var offset = entry.offset
        if let operation = records.operation(at: &offset), ByteOrder.equal(operation.key, key) { return operation }
      }
      index = entry.previous
    }
    return nil
  }

  private func chain(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (chains.count - 1) }

  private mutating func add(_ hash: UInt64, at offset: Int) {
    if entries.count >= chains.count { grow() }
    let chain = chain(hash)
    entries.append(Entry(offset: offset, hash: hash, previous: chains[chain]))
    chains[chain] = Int32(entries.count - 1)
  }

  private mutating func grow() {
    chains = Array(repeating: -1, count: max(Self.leastChains, chains.count * 2))
    for index in entries.indices {
      let entry = entries[index]
      let chain = chain(entry.hash)
      entries[index] = Entry(offset: entry.offset, hash: entry.hash, previous: chains[chain])
      chains[chain] = Int32(index)
    }
  }
}
