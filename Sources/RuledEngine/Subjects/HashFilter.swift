/// Which hashes a set may hold, told without looking at the set: a Bloom filter of 256 bits with two for each hash.
///
/// Of 32 hashes it takes one in twenty others for its own, of 128 two in five.
struct HashFilter {
  private var words: InlineArray<4, UInt64> = .init(repeating: 0)

  /// Adds a hash whose bits are all as good as random.
  mutating func insert(_ hash: UInt64) {
    words[Self.word(hash)] |= Self.bit(hash)
    words[Self.word(hash >> 8)] |= Self.bit(hash >> 8)
  }

  /// Whether the hash may have been added; false is certain.
  func mayContain(_ hash: UInt64) -> Bool {
    words[Self.word(hash)] & Self.bit(hash) != 0 && words[Self.word(hash >> 8)] & Self.bit(hash >> 8) != 0
  }

  private static func word(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash & 0xFF) >> 6 }
  private static func bit(_ hash: UInt64) -> UInt64 { 1 << (hash & 63) }
}
