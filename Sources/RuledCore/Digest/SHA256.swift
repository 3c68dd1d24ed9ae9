import CDigest

/// SHA-256 (FIPS 180-4), in one go or piece by piece; by the processor's own instructions where it has them.
package struct SHA256: Sendable {
  /// A finished digest of 32 bytes.
  package struct Digest: Sendable, Hashable {
    /// The eight words, the first first.
    let words: SIMD8<UInt32>

    package var bytes: [UInt8] { (0..<32).map { byte($0) } }

    /// The digest in 64 lower-case hexadecimal digits.
    package var hex: String {
      let buffer = ByteBuffer(capacity: 64)
      write(hexTo: buffer)
      return buffer.text
    }

    /// Appends the digest in lower-case hexadecimal digits, two for each of the first `count` bytes.
    func write(hexTo buffer: ByteBuffer, count: Int = 32) {
      for position in 0..<count {
        buffer.append(hexDigit: byte(position) >> 4)
        buffer.append(hexDigit: byte(position) & 15)
      }
    }

    private func byte(_ position: Int) -> UInt8 {
      UInt8(truncatingIfNeeded: words[position / 4] >> UInt32(24 - position % 4 * 8))
    }
  }

  private var state = SIMD8<UInt32>(
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19)
  private var pending: [UInt8] = []
  private var length: UInt64 = 0
  private let isPortable: Bool

  /// A digest of nothing yet; a portable one does without the processor's instructions.
  package init(isPortable: Bool = false) { self.isPortable = isPortable }

  package static func hash(_ bytes: ByteView) -> Digest {
    var hash = SHA256()
    hash.update(bytes)
    return hash.finish()
  }

  /// The digest of the UTF-8 of `text`.
  package static func hash(_ text: String) -> Digest {
    text.withView { hash($0) }
  }

  /// Adds `bytes` to what is digested.
  package mutating func update(_ bytes: ByteView) {
    length += UInt64(bytes.count)
    var position = 0
    if !pending.isEmpty {
      position = min(64 - pending.count, bytes.count)
      pending += bytes[..<position]
      guard pending.count == 64 else { return }
      pending.withView { compress($0) }
      pending.removeAll(keepingCapacity: true)
    }
    let whole = (bytes.count - position) / 64 * 64
    if whole > 0 { compress(bytes.extracting(position..<(position + whole))) }
    position += whole
    pending += bytes[position...]
  }

  /// Adds the UTF-8 of `text` to what is digested.
  package mutating func update(_ text: String) {
    text.withView { update($0) }
  }

  /// The digest of all bytes that were added.
  ///
  /// More may be added afterwards.
  package func finish() -> Digest {
    var last = self
    let bits = length &* 8
    let padding = (119 - Int(length % 64)) % 64
    var tail: [UInt8] = [0x80] + [UInt8](repeating: 0, count: padding)
    for shift in stride(from: 56 as UInt64, through: 0, by: -8) {
      tail.append(UInt8(truncatingIfNeeded: bits >> shift))
    }
    tail.withView { last.update($0) }
    return Digest(words: last.state)
  }

  /// The message authentication code of RFC 2104 under a key of at most 64 bytes; `digest` adds the message to what it is given.
  package static func authenticator(key: [UInt8], digest: (SHA256) -> Digest) -> Digest {
    let padded = key + [UInt8](repeating: 0, count: 64 - key.count)
    var inner = SHA256(), outer = SHA256()
    padded.map { $0 ^ 0x36 }.withView { inner.update($0) }
    padded.map { $0 ^ 0x5C }.withView { outer.update($0) }
    digest(inner).bytes.withView { outer.update($0) }
    return outer.finish()
  }

  /// Digests blocks of 64 bytes each.
  private mutating func compress(_ blocks: ByteView) {
    let isDone =
      !isPortable
      && withUnsafeMutableBytes(of: &state) {
        digest_sha256($0.assumingMemoryBound(to: UInt32.self).baseAddress, blocks.baseAddress, blocks.count / 64)
      }
    guard !isDone else { return }
    for start in stride(from: 0, to: blocks.count, by: 64) { compress(block: blocks.extracting(start..<(start + 64))) }
  }

  private mutating func compress(block: ByteView) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
      for index in 0..<16 {
        schedule[index] = UInt32(bigEndian: block.load(uncheckedAt: index * 4, as: UInt32.self))
      }
      for index in 16..<64 {
        let (early, late) = (schedule[index - 15], schedule[index - 2])
        let mixedEarly = Self.rotate(early, 7) ^ Self.rotate(early, 18) ^ (early >> 3)
        let mixedLate = Self.rotate(late, 17) ^ Self.rotate(late, 19) ^ (late >> 10)
        schedule[index] = schedule[index - 16] &+ mixedEarly &+ schedule[index - 7] &+ mixedLate
      }
      Self.constants.withUnsafeBufferPointer { constants in
        for index in 0..<64 {
          let mixedE = Self.rotate(e, 6) ^ Self.rotate(e, 11) ^ Self.rotate(e, 25)
          let first = h &+ mixedE &+ ((e & f) ^ (~e & g)) &+ constants[index] &+ schedule[index]
          let mixedA = Self.rotate(a, 2) ^ Self.rotate(a, 13) ^ Self.rotate(a, 22)
          let second = mixedA &+ ((a & b) ^ (a & c) ^ (b & c))
          (h, g, f, e) = (g, f, e, d &+ first)
          (d, c, b, a) = (c, b, a, first &+ second)
        }
      }
    }
    state &+= SIMD8(a, b, c, d, e, f, g, h)
  }

  private static func rotate(_ word: UInt32, _ by: UInt32) -> UInt32 { word &>> by | word &<< (32 &- by) }

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}
