/// Base64 by RFC 4648, section 4.
package enum Base64 {
  package static func encode(_ bytes: ByteView, to buffer: ByteBuffer) {
    var start = 0
    while start < bytes.count {
      let length = min(3, bytes.count - start)
      var group: UInt32 = 0
      for index in 0..<3 { group = group << 8 | (index < length ? UInt32(bytes[start + index]) : 0) }
      for index in 0..<4 {
        let value = UInt8(truncatingIfNeeded: group >> (18 - 6 * index)) & 63
        buffer.append(index <= length ? letter(value) : UInt8(ascii: "="))
      }
      start += 3
    }
  }

  /// The bytes that a text stands for, up to the first that is no letter.
  package static func decode(_ text: some Sequence<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var (group, bits): (UInt32, Int) = (0, 0)
    for letter in text {
      guard let value = values[Int(letter)] else { break }
      (group, bits) = (group << 6 | value, bits + 6)
      guard bits >= 8 else { continue }
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
    }
    return bytes
  }

  private static let values: [UInt32?] = {
    var values: [UInt32?] = Array(repeating: nil, count: 256)
    for value in 0..<64 { values[Int(letter(UInt8(value)))] = UInt32(value) }
    return values
  }()

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
