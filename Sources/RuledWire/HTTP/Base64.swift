import RuledCore

/// Base64 by RFC 4648, section 4.
enum Base64 {
  /// Appends the encoded bytes with their padding.
  static func write(_ bytes: UnsafeRawBufferPointer, to buffer: ByteBuffer) {
    var start = 0
    while start < bytes.count {
      let left = min(3, bytes.count - start)
      var group: UInt32 = 0
      for place in 0..<3 { group = group << 8 | (place < left ? UInt32(bytes[start + place]) : 0) }
      for place in 0..<4 {
        buffer.append(
          place <= left ? letter(UInt8(truncatingIfNeeded: group >> (18 - 6 * place)) & 63) : UInt8(ascii: "="))
      }
      start += 3
    }
  }

  private static func letter(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") + value
    case 26..<52: UInt8(ascii: "a") + value - 26
    case 52..<62: UInt8(ascii: "0") + value - 52
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }
}
