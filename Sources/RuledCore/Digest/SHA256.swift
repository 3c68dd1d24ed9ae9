import CDigest

/// SHA-256 (FIPS 180-4), in one go or piece by piece.
package struct SHA256: Sendable {
  package struct Digest: Sendable, Hashable {
    /// Its bytes from the first on, eight in a word with the first of them highest.
    package let words: SIMD4<UInt64>

    package var bytes: [UInt8] {
      (0..<32).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64(56 - $0 % 8 * 8)) }
    }

    /// The digest in 64 lower-case hexadecimal digits.
    package var hex: String { bytes.hex }
  }

  private var context = SHA256_CTX()

  package init() { SHA256_Init(&context) }

  package static func hash(_ bytes: ByteView) -> Digest {
    var hash = SHA256()
    hash.update(bytes)
    return hash.finish()
  }

  package static func hash(_ text: String) -> Digest {
    text.withView { hash($0) }
  }

  package mutating func update(_ bytes: ByteView) { SHA256_Update(&context, bytes.baseAddress, bytes.count) }

  package mutating func update(_ text: String) {
    text.withView { update($0) }
  }

  /// More bytes may be added afterwards.
  package func finish() -> Digest {
    var context = context
    var words = SIMD4<UInt64>()
    withUnsafeMutableBytes(of: &words) { bytes in
      _ = SHA256_Final(bytes.assumingMemoryBound(to: UInt8.self).baseAddress, &context)
    }
    for index in words.indices { words[index] = words[index].bigEndian }
    return Digest(words: words)
  }

  /// The message authentication code of RFC 2104 under a key of at most 64 bytes; `digest` adds the message to a digest that has begun.
  package static func authenticator(key: [UInt8], digest: (SHA256) -> Digest) -> Digest {
    let padded = key + [UInt8](repeating: 0, count: 64 - key.count)
    var inner = SHA256(), outer = SHA256()
    padded.map { $0 ^ 0x36 }.withView { inner.update($0) }
    padded.map { $0 ^ 0x5C }.withView { outer.update($0) }
    digest(inner).bytes.withView { outer.update($0) }
    return outer.finish()
  }
}
