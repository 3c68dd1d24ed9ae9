import RuledCore

/// A Bloom filter of the subjects in a block, with false positives of 1 %.
struct SubjectFilter {
  /// The bits, in whole words; an empty filter matches every subject.
  let bits: [UInt8]

  private static let bitsPerSubject = 10
  private static let probes: UInt64 = 7

  /// The hash of a subject, which is not 0.
  static func hash(_ subject: ByteView) -> UInt64 { max(1, hash64(subject, seed: 0x6A6F_7572_6E61_6C73)) }

  static func hash(of subject: String) -> UInt64 { subject.withView { hash($0) } }

  init(_ hashes: DistinctHashes) {
    var bits = [UInt8](repeating: 0, count: (hashes.count * Self.bitsPerSubject + 63) / 64 * 8)
    for hash in hashes.slots where hash != DistinctHashes.free {
      Self.forEachBit(of: hash, among: bits.count * 8) { bit in
        bits[bit >> 3] |= 1 << UInt8(bit & 7)
        return true
      }
    }
    self.bits = bits
  }

  init(bits: [UInt8]) { self.bits = bits }

  func mayContain(_ hash: UInt64) -> Bool {
    bits.isEmpty || Self.forEachBit(of: hash, among: bits.count * 8) { bits[$0 >> 3] & 1 << UInt8($0 & 7) != 0 }
  }

  /// Calls `body` with the bits of a hash until it returns false; returns whether it never did.
  @discardableResult
  private static func forEachBit(of hash: UInt64, among count: Int, _ body: (Int) -> Bool) -> Bool {
    guard count > 0 else { return true }
    let step = hash >> 32 | 1
    var probe = hash
    for _ in 0..<probes {
      guard body(Int(probe % UInt64(count))) else { return false }
      probe &+= step &* 0x9E37_79B9_7F4A_7C15
    }
    return true
  }
}
