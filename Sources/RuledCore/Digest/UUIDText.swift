/// A UUID (RFC 9562), kept as 128 bits and written in lower case.
package struct UUIDText: Sendable, Hashable {
  let high: UInt64
  let low: UInt64

  /// A random UUID, of version 4.
  package static func random() -> UUIDText { random(.random(in: 0 ... .max), .random(in: 0 ... .max)) }

  /// A UUID of version 4, made of random bits that the caller draws.
  static func random(_ high: UInt64, _ low: UInt64) -> UUIDText {
    UUIDText(high: high, low: low).marked(version: 4)
  }

  /// The UUID of version 8 that `bytes` always give: their SHA-256, cut to size.
  package static func derived(from bytes: ByteView) -> UUIDText {
    let words = SHA256.hash(bytes).words
    return UUIDText(high: words[0], low: words[1]).marked(version: 8)
  }

  private func marked(version: UInt64) -> UUIDText {
    UUIDText(high: high & ~0xF000 | version << 12, low: low & ~(0b11 << 62) | 0b10 << 62)
  }

  package var text: String {
    let buffer = ByteBuffer(capacity: 36)
    write(to: buffer)
    return buffer.text
  }

  package func write(to buffer: ByteBuffer) {
    for nibble in 0..<32 {
      if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 { buffer.append(UInt8(ascii: "-")) }
      let word = nibble < 16 ? high : low
      buffer.append(hexDigit: UInt8(truncatingIfNeeded: word >> UInt64(60 - nibble % 16 * 4)) & 15)
    }
  }
}
