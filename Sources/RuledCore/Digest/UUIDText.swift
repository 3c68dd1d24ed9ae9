/// A UUID (RFC 9562), kept as 128 bits and written in lower case.
package struct UUIDText: Sendable, Hashable {
  /// The first eight bytes.
  let high: UInt64
  /// The last eight bytes.
  let low: UInt64

  /// The UUID of these 128 bits, as they are.
  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The UUID of the first 16 of `bytes`, as they are.
  ///
  /// - Precondition: There are 16 bytes or more.
  init(bytes: ByteView) {
    precondition(bytes.count >= 16)
    high = UInt64(bigEndian: bytes.load(at: 0, as: UInt64.self))
    low = UInt64(bigEndian: bytes.load(at: 8, as: UInt64.self))
  }

  /// A UUID of version 4, made of random bits that the caller draws.
  package static func random(_ high: UInt64, _ low: UInt64) -> UUIDText {
    UUIDText(high: high, low: low).marked(version: 4)
  }

  /// The UUID of version 8 that `bytes` always give: their SHA-256, cut to size.
  package static func derived(from bytes: ByteView) -> UUIDText {
    let words = SHA256.hash(bytes).words
    let high = UInt64(words[0]) << 32 | UInt64(words[1])
    return UUIDText(high: high, low: UInt64(words[2]) << 32 | UInt64(words[3])).marked(version: 8)
  }

  private func marked(version: UInt64) -> UUIDText {
    UUIDText(high: high & ~0xF000 | version << 12, low: low & ~(0b11 << 62) | 0b10 << 62)
  }

  /// The UUID in its 36 characters.
  package var text: String {
    let buffer = ByteBuffer(capacity: 36)
    write(to: buffer)
    return buffer.text
  }

  /// Appends the UUID in its 36 characters.
  package func write(to buffer: ByteBuffer) {
    for nibble in 0..<32 {
      if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 { buffer.append(UInt8(ascii: "-")) }
      let word = nibble < 16 ? high : low
      buffer.append(hexDigit: UInt8(truncatingIfNeeded: word >> UInt64(60 - nibble % 16 * 4)) & 15)
    }
  }
}
