/// Percent-encoding, RFC 3986 section 2.1.
package enum PercentText {
  /// `bytes`, which are UTF-8, with their escapes decoded once.
  ///
  /// A `%` without two hexadecimal digits stays as it is, and so does an escape whose byte is no part of well-formed
  /// UTF-8; the result is UTF-8 always.
  package static func decode(_ bytes: Slice<ByteView>) -> String {
    guard bytes.contains(UInt8(ascii: "%")) else { return bytes.text }
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
    return decoded.text
  }

  /// `text` with its escapes decoded once; nil if they give no UTF-8.
  ///
  /// A `%` without two hexadecimal digits stays as it is.
  package static func decodeStrictly(_ text: String) -> String? {
    var decoded: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap(HexDigit.value)
      if byte == UInt8(ascii: "%"), digits.count == 2 {
        decoded.append(digits[0] << 4 | digits[1])
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte)
      }
    }
    return String(validating: decoded, as: UTF8.self)
  }

  /// `text` with an escape for each byte that is not kept.
  package static func encode(_ text: String, uppercase: Bool = true, keeping isKept: (UInt8) -> Bool) -> String {
    text.utf8.map { byte in
      isKept(byte) ? String(UnicodeScalar(byte)) : "%\(byte.digits(2, radix: 16, uppercase: uppercase))"
    }.joined()
  }

  private static func escaped(_ bytes: Slice<ByteView>, _ position: Int) -> UInt8? {
    guard position + 2 < bytes.endIndex, bytes[position] == UInt8(ascii: "%"),
      let high = HexDigit.value(bytes[position + 1]), let low = HexDigit.value(bytes[position + 2])
    else { return nil }
    return high << 4 | low
  }
}

/// Hexadecimal digits in either case.
package enum HexDigit {
  package static func value(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
