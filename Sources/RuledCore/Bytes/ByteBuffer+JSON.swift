extension ByteBuffer {
  /// Appends `text` as a JSON string with its quotes, escaping what RFC 8259 section 7 requires.
  package func append(jsonString text: UnsafeRawBufferPointer) {
    guard let start = text.baseAddress, !text.isEmpty else { return append("\"\"" as StaticString) }
    let length = text.count
    reserve(length + 2)
    guard EightBytes.all(text, where: \.isPlainInJSON, and: { !Self.isEscaped($0) }) else {
      return append(escaping: text)
    }
    let end = base + count
    end.pointee = UInt8(ascii: "\"")
    UnsafeMutableRawPointer(end + 1).copyMemory(from: start, byteCount: length)
    end[length + 1] = UInt8(ascii: "\"")
    count += length + 2
  }

  /// Appends `text` as a JSON string with its quotes.
  package func append(jsonString text: String) {
    var text = text
    text.withUTF8 { append(jsonString: UnsafeRawBufferPointer($0)) }
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  private func append(escaping text: UnsafeRawBufferPointer) {
    append(UInt8(ascii: "\""))
    var start = 0
    for index in 0..<text.count where Self.isEscaped(text[index]) {
      append(UnsafeRawBufferPointer(rebasing: text[start..<index]))
      append(escaped: text[index])
      start = index + 1
    }
    append(UnsafeRawBufferPointer(rebasing: text[start..<text.count]))
    append(UInt8(ascii: "\""))
  }

  private func append(escaped byte: UInt8) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    default:
      append("u00" as StaticString)
      append(hexDigit: byte >> 4)
      append(hexDigit: byte & 15)
    }
  }
}
