/// White space at the ends of texts, as `text.trim` of rules has it.
package enum UnicodeText {
  /// `text` without Unicode white space at its ends.
  package static func trim(_ text: String) -> String {
    text.withView { String(decoding: trim($0), as: UTF8.self) }
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
