/// What rules call as `text`.
package enum UnicodeText {
  /// `text` without Unicode white space at its ends.
  package static func trim(_ text: String) -> String {
    text.withView { String(decoding: trim($0), as: UTF8.self) }
  }

  /// Appends `bytes` in Unicode lower case, with U+FFFD in place of what is not UTF-8.
  package static func lower(_ bytes: ByteView, to buffer: ByteBuffer) {
    buffer.reserve(bytes.count)
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      if let lower = LowerCase.table[scalar] {
        UTF8.encode(lower).map { bytes in for byte in bytes { buffer.append(byte) } }
      } else {
        buffer.append(contentsOf: scalar.properties.lowercaseMapping)
      }
    }
  }

  /// The part of `bytes` that is left without the characters of the property White_Space at its ends.
  static func trim(_ bytes: ByteView) -> ByteView {
    var start = 0
    var end = bytes.count
    while let length = (1...3).first(where: { isWhiteSpace(bytes, start, min(start + $0, end), $0) }) {
      start += length
    }
    while let length = (1...3).first(where: { isWhiteSpace(bytes, max(end - $0, start), end, $0) }) { end -= length }
    return bytes.extracting(start..<end)
  }

  /// Whether the bytes between are one white space character of that length in UTF-8.
  private static func isWhiteSpace(_ bytes: ByteView, _ start: Int, _ end: Int, _ length: Int) -> Bool {
    guard end - start == length else { return false }
    let code = bytes[start..<end].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
    switch code {
    case 0x09...0x0D, 0x20: return true
    case 0xC285, 0xC2A0: return true
    case 0xE19A80, 0xE28080...0xE2808A, 0xE280A8, 0xE280A9, 0xE280AF, 0xE2819F, 0xE38080: return true
    default: return false
    }
  }
}

/// The scalars in lower case, each found at once: the standard library makes a string for each that it is asked for.
private struct LowerCase: Sendable {
  static let table = LowerCase()

  /// From here on no scalar has a lower case of its own.
  private static let end: UInt32 = 0x1EA00
  private let scalars: [Unicode.Scalar?]

  private init() {
    scalars = (0..<Self.end).map { code in
      guard let scalar = Unicode.Scalar(code) else { return nil }
      guard scalar.properties.changesWhenLowercased else { return scalar }
      let lower = scalar.properties.lowercaseMapping.unicodeScalars
      return lower.count == 1 ? lower.first : nil
    }
  }

  /// The scalar in lower case; nil if that is several scalars.
  subscript(scalar: Unicode.Scalar) -> Unicode.Scalar? {
    scalar.value < Self.end ? scalars[Int(scalar.value)] : scalar
  }
}
