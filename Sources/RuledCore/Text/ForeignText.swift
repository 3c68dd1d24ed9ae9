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

  /// The name as it is if it has letters, digits and `:._-/@` alone; else printable and quoted, so that it can't pass for the words around it.
  package var quotedName: String {
    let isPlain = unicodeScalars.allSatisfy { scalar in
      scalar.properties.isAlphabetic && !scalar.isSteering || "0123456789:._-/@…".unicodeScalars.contains(scalar)
    }
    if isPlain, !isEmpty { return self }
    let escaped = unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
    return "\"\(escaped.printable)\""
  }

  /// The text as one word of a shell's command line; in `$'…'` with its bytes in octal where it is not printable.
  package var quotedForShell: String {
    let isPlain = utf8.allSatisfy { $0.isLetter || $0.isDigit || "-_./:@%+=,".utf8.contains($0) }
    if isPlain, !isEmpty { return self }
    let isPrintable = printable == self
    var word = isPrintable ? "'" : "$'"
    // Not by characters: a quote with an accent is a quote for the shell.
    for scalar in unicodeScalars {
      switch scalar {
      case "'" where isPrintable: word += "'\\''"
      case "\\" where isPrintable: word += "\\"
      case "'", "\\": word += "\\\(scalar)"
      case _ where scalar.value < 0x20 || scalar.isSteering:
        for byte in String(scalar).utf8 { word += "\\" + UInt32(byte).digits(3, radix: 8) }
      default: word.unicodeScalars.append(scalar)
      }
    }
    return word + "'"
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
