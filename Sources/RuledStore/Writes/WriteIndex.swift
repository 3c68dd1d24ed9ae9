import RuledCore

/// Where in a set the last write on each key stands, found by a hash of the key.
///
/// Writes are added in their order and taken away from the end, so that a set can be cut back to a mark: each write remembers the one
/// before it in its chain.
struct WriteIndex {
  private struct Entry {
    /// Where the write stands.
    let offset: Int
    /// The hash of its key.
    let hash: UInt64
    /// The write before it in the same chain; -1 for none.
    let previous: Int32
  }

  /// The last write of each chain; -1 for none.
  private var chains: [Int32] = []
  private var entries: [Entry] = []
  /// Up to where the set's writes have been added.
  private(set) var end = 0

  private static let leastChains = 128

  /// Forgets all writes; keeps the room unless it is large.
  mutating func removeAll() {
    guard end > 0 else { return }
    if chains.count > 64 * Self.leastChains { self = WriteIndex() } else { truncate(to: 0) }
  }

  /// Forgets the writes from `offset` on.
  ///
  /// - Complexity: O(n) in the writes that are forgotten.
  mutating func truncate(to offset: Int) {
    guard end > offset else { return }
    while let last = entries.last, last.offset >= offset {
      chains[chain(last.hash)] = last.previous
      entries.removeLast()
    }
    end = offset
  }

  /// Adds the writes of `batch` that have come since.
  ///
  /// - Complexity: O(1) for each, amortized.
  mutating func add(from batch: WriteBatch) {
    var offset = end
    var start = offset
    while let operation = batch.record(at: &offset) {
      add(hash64(operation.key), at: start)
      start = offset
    }
    end = offset
  }

  /// The last write of `batch` on `key`; nil when there is none.
  ///
  /// - Complexity: O(1), as long as few writes are on the keys of one chain.
  func find(_ key: UnsafeRawBufferPointer, in batch: WriteBatch) -> WriteOperation? {
    guard !entries.isEmpty else { return nil }
    let hash = hash64(key)
    var place = chains[chain(hash)]
    while place >= 0 {
      let entry = entries[Int(place)]
      if entry.hash == hash {
        var offset = entry.offset
        if let operation = batch.record(at: &offset), ByteOrder.equal(operation.key, key) { return operation }
      }
      place = entry.previous
    }
    return nil
  }

  private func chain(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (chains.count - 1) }

  private mutating func add(_ hash: UInt64, at offset: Int) {
    if entries.count >= chains.count { grow() }
    let place = chain(hash)
    entries.append(Entry(offset: offset, hash: hash, previous: chains[place]))
    chains[place] = Int32(entries.count - 1)
  }

  private mutating func grow() {
    chains = Array(repeating: -1, count: max(Self.leastChains, chains.count * 2))
    for number in entries.indices {
      let entry = entries[number]
      let place = chain(entry.hash)
      entries[number] = Entry(offset: entry.offset, hash: entry.hash, previous: chains[place])
      chains[place] = Int32(number)
    }
  }
}
