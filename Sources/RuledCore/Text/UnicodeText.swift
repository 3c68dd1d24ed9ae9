/// What rules call as `text`.
package enum UnicodeText {
  /// `text` in Unicode lower case.
  package static func lower(_ text: String) -> String { text.lowercased() }

  /// `text` without Unicode white space at its ends.
  package static func trim(_ text: String) -> String {
    text.withView { String(decoding: trim($0), as: UTF8.self) }
  }

  /// Appends `bytes` in Unicode lower case; of what is not UTF-8 only ASCII letters change.
  package static func lower(_ bytes: ByteView, to buffer: ByteBuffer) {
    if bytes.contains(where: { $0 >= 0x80 }), let text = String(validating: bytes, as: UTF8.self) {
      return buffer.append(contentsOf: text.lowercased())
    }
    buffer.reserve(bytes.count)
    for byte in bytes {
      let isCapital = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
      buffer.append(isCapital ? byte | 0x20 : byte)
    }
  }

  /// The part of `bytes` that is left without the characters of the property White_Space at its ends.
  package static func trim(_ bytes: ByteView) -> ByteView {
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
