/// Percent-encoding, RFC 3986 section 2.1.
package enum PercentText {
  /// `bytes`, which are UTF-8, with their escapes decoded once.
  ///
  /// A `%` without two hexadecimal digits stays as it is, and so does an escape whose byte is no part of well-formed
  /// UTF-8; the result is UTF-8 always.
  package static func decode(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    guard bytes.contains(UInt8(ascii: "%")) else { return String(decoding: bytes, as: UTF8.self) }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var position = bytes.startIndex
    while position < bytes.endIndex {
      guard let first = escaped(bytes, position) else {
        decoded.append(bytes[position])
        position += 1
        continue
      }
      var character = [first]
      let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
      while character.count < length, let byte = escaped(bytes, position + 3 * character.count) {
        character.append(byte)
      }
      if character.count == length, String(validating: character, as: UTF8.self) != nil {
        decoded += character
        position += 3 * length
      } else {
        decoded += bytes[position..<(position + 3)]
        position += 3
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }

  private static func escaped(_ bytes: Slice<UnsafeRawBufferPointer>, _ position: Int) -> UInt8? {
    guard position + 2 < bytes.endIndex, bytes[position] == UInt8(ascii: "%"),
      let high = HexDigit.value(bytes[position + 1]), let low = HexDigit.value(bytes[position + 2])
    else { return nil }
    return high << 4 | low
  }
}
