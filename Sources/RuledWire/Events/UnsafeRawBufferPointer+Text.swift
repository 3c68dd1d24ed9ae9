import RuledCore

extension UnsafeRawBufferPointer {
  /// Whether the UTF-8 has a character of C0, DEL or C1.
  package var hasControlCharacters: Bool {
    if EightBytes.all(self, where: \.isPlainASCII, and: { 0x20..<0x7F ~= $0 }) { return false }
    var previous: UInt8 = 0
    for byte in self {
      if byte < 0x20 || byte == 0x7F || (previous == 0xC2 && byte < 0xA0 && byte >= 0x80) { return true }
      previous = byte
    }
    return false
  }

  /// Whether the bytes are base64 as RFC 4648 section 4 has it: padded, without line breaks.
  package var isBase64: Bool {
    guard count.isMultiple(of: 4) else { return false }
    var length = count
    while length > 0, length > count - 2, self[length - 1] == UInt8(ascii: "=") { length -= 1 }
    return self[..<length].allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
        true
      default: false
      }
    }
  }
}
