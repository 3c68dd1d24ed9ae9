/// Text that others wrote, on its way to a terminal or into a log, where it must not steer anything.
extension String {
  /// The text with what steers a terminal escaped: control characters, and marks that change the direction of writing.
  package var printable: String {
    guard unicodeScalars.contains(where: { $0.value < 0x20 || $0.isSteering }) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": text += "\\n"
      case "\t": text += "\\t"
      case _ where scalar.value < 0x20 || scalar.isSteering: text += "\\u{\(String(scalar.value, radix: 16))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The text with all that `printable` escapes but C0, as `\u009b`: JSON keeps its value, and text of the program itself, such as colours, stays.
  package var withoutSteering: String {
    guard utf8.contains(where: Unicode.Scalar.mayBeginSteering), unicodeScalars.contains(where: \.isSteering) else {
      return self
    }
    var text = ""
    for scalar in unicodeScalars {
      guard scalar.isSteering else {
        text.unicodeScalars.append(scalar)
        continue
      }
      let digits = String(scalar.value, radix: 16)
      text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
    return text
  }
}

extension Unicode.Scalar {
  /// Whether it is DEL, of C1, or a mark that changes the direction of writing.
  package var isSteering: Bool {
    switch value {
    case 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// Whether the UTF-8 of such a character may begin with that byte.
  fileprivate static func mayBeginSteering(_ byte: UInt8) -> Bool {
    byte == 0x7F || byte == 0xC2 || byte == 0xD8 || byte == 0xE2
  }
}
