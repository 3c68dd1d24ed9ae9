/// Text that others wrote, on its way to a terminal or into a log, where it must not steer anything.
extension String {
  /// The text with escapes in the place of characters that steer a terminal or can't be seen: control characters, marks that change the direction of
  /// writing, other lines' ends, and characters without a shape.
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

  /// The text with each of its lines printable.
  package var printableLines: String {
    unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
      .joined(separator: "\n")
  }

  /// The text with the escapes of `printable`, but for C0, as `\u009b`: JSON keeps its value, and text of the program itself, such as colours, stays.
  package var withoutSteering: String {
    guard utf8.contains(where: { $0 >= 0x7F }), unicodeScalars.contains(where: \.isSteering) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      guard scalar.isSteering else {
        text.unicodeScalars.append(scalar)
        continue
      }
      for unit in scalar.utf16 { text += "\\u" + UInt32(unit).digits(4, radix: 16) }
    }
    return text
  }
}

extension Unicode.Scalar {
  /// Whether it is DEL, of C1, a format character, an end of a line or paragraph, or has no shape of its own (`Cf`, `Zl`, `Zp`,
  /// `Default_Ignorable_Code_Point`); the selectors by which emoji have colours are none.
  package var isSteering: Bool {
    if value <= 0x9F { return value >= 0x7F }
    switch properties.generalCategory {
    case .format, .lineSeparator, .paragraphSeparator: return true
    default: return properties.isDefaultIgnorableCodePoint && !(0xFE00...0xFE0F).contains(value)
    }
  }
}
