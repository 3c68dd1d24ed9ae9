import RuledCore

/// Cuts a text into words as the lexer of Lua 5.4 does (llex.c), but leaves it to Lua to refuse malformed numbers and long brackets.
struct LuaLexer {
  private static let keywords: Set<String> = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while",
  ]
  private static let pairs = ["<<", ">>", "//", "==", "~=", "<=", ">=", "::", ".."].map {
    ($0.utf8.first, $0.utf8.last)
  }

  private let text: [UInt8]
  private(set) var comments: [Range<Int>] = []
  private var position = 0
  private var line = 1

  init(_ text: [UInt8]) { self.text = text }

  mutating func next() throws(SyntaxError) -> LuaToken {
    try skipSpace()
    let start = position
    guard let byte = peek() else { return token(.end, "<eof>", from: start) }
    if Self.isLetter(byte) {
      while let next = peek(), Self.isLetter(next) || next.isDigit { position += 1 }
      let word = text[start..<position].text
      return token(Self.keywords.contains(word) ? .keyword : .name, word, from: start)
    }
    if byte.isDigit || byte == UInt8(ascii: ".") && peek(1)?.isDigit == true {
      return number(from: start)
    }
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      let value = try string(byte)
      return token(.string, value, from: start)
    case UInt8(ascii: "["):
      guard let level = longBracket() else { break }
      let value = try longString(level)
      return token(.string, value, from: start)
    default: break
    }
    position += 1
    if let next = peek(), Self.pairs.contains(where: { $0 == (byte, next) }) { position += 1 }
    if byte == UInt8(ascii: "."), position == start + 2, peek() == byte { position += 1 }
    return token(.symbol, text[start..<position].text, from: start)
  }

  private func token(_ kind: LuaToken.Kind, _ text: String, from start: Int) -> LuaToken {
    LuaToken(kind: kind, text: text, range: start..<position, line: line)
  }

  private func peek(_ ahead: Int = 0) -> UInt8? {
    position + ahead < text.count ? text[position + ahead] : nil
  }

  /// The byte at a place of the text; nil beyond its ends.
  func byte(at place: Int) -> UInt8? { text.indices.contains(place) ? text[place] : nil }

  private func error(_ message: String) -> SyntaxError { SyntaxError(line: line, message: message) }

  // MARK: Space

  private mutating func skipSpace() throws(SyntaxError) {
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"): skipLineEnd()
      case UInt8(ascii: " "), UInt8(ascii: "\t"), 0x0B, 0x0C: position += 1
      case UInt8(ascii: "-") where peek(1) == UInt8(ascii: "-"):
        let start = position
        position += 2
        if peek() == UInt8(ascii: "["), let level = longBracket() {
          _ = try longString(level)
        } else {
          while let next = peek(), next != UInt8(ascii: "\n"), next != UInt8(ascii: "\r") { position += 1 }
        }
        comments.append(start..<position)
      default: return
      }
    }
  }

  /// Skips `\n`, `\r`, or a pair of the two, as one end of a line.
  private mutating func skipLineEnd() {
    let first = text[position]
    position += 1
    if let second = peek(), second != first, second == UInt8(ascii: "\n") || second == UInt8(ascii: "\r") {
      position += 1
    }
    line += 1
  }

  // MARK: Strings

  /// The level of the long bracket that opens here; nil, at the same place, if none does.
  private mutating func longBracket() -> Int? {
    var level = 0
    while peek(1 + level) == UInt8(ascii: "=") { level += 1 }
    guard peek(1 + level) == UInt8(ascii: "[") else { return nil }
    position += level + 2
    return level
  }

  /// The content up to the closing long bracket of that level; the opening one is behind.
  private mutating func longString(_ level: Int) throws(SyntaxError) -> String {
    var value: [UInt8] = []
    if let first = peek(), first == UInt8(ascii: "\n") || first == UInt8(ascii: "\r") { skipLineEnd() }
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "]"):
        var count = 0
        while peek(1 + count) == UInt8(ascii: "=") { count += 1 }
        if count == level, peek(1 + count) == UInt8(ascii: "]") {
          position += level + 2
          return value.text
        }
        value.append(byte)
        position += 1
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        skipLineEnd()
        value.append(UInt8(ascii: "\n"))
      default:
        value.append(byte)
        position += 1
      }
    }
    throw error("unfinished long string or comment")
  }

  private mutating func string(_ quote: UInt8) throws(SyntaxError) -> String {
    var value: [UInt8] = []
    position += 1
    while let byte = peek() {
      switch byte {
      case quote:
        position += 1
        return value.text
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"): throw error("unfinished string")
      case UInt8(ascii: "\\"):
        position += 1
        try escape(into: &value)
      default:
        value.append(byte)
        position += 1
      }
    }
    throw error("unfinished string")
  }

  /// Reads the rest of an escape after its backslash.
  private mutating func escape(into value: inout [UInt8]) throws(SyntaxError) {
    guard let byte = peek() else { throw error("unfinished string") }
    let simple: [UInt8: UInt8] = [
      UInt8(ascii: "a"): 7, UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13,
      UInt8(ascii: "t"): 9, UInt8(ascii: "v"): 11, UInt8(ascii: "\\"): 92, UInt8(ascii: "\""): 34,
      UInt8(ascii: "'"): 39,
    ]
    if let known = simple[byte] {
      value.append(known)
      position += 1
      return
    }
    switch byte {
    case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
      skipLineEnd()
      value.append(UInt8(ascii: "\n"))
    case UInt8(ascii: "x"):
      guard let high = peek(1).flatMap(Self.hexDigit), let low = peek(2).flatMap(Self.hexDigit) else {
        throw error("hexadecimal digit expected")
      }
      value.append(UInt8(high * 16 + low))
      position += 3
    case UInt8(ascii: "z"):
      position += 1
      while let next = peek(), next == UInt8(ascii: " ") || (9...13).contains(next) {
        if next == UInt8(ascii: "\n") || next == UInt8(ascii: "\r") { skipLineEnd() } else { position += 1 }
      }
    case UInt8(ascii: "u"): try codePoint(into: &value)
    default:
      guard byte.isDigit else { throw error("invalid escape sequence") }
      var number = 0
      var digits = 0
      while digits < 3, let next = peek(), next.isDigit {
        number = number * 10 + Int(next) - 48
        digits += 1
        position += 1
      }
      guard number <= 255 else { throw error("decimal escape too large") }
      value.append(UInt8(number))
    }
  }

  /// Reads `u{XXX}` as Lua's extended UTF-8 of up to six bytes.
  private mutating func codePoint(into value: inout [UInt8]) throws(SyntaxError) {
    guard peek(1) == UInt8(ascii: "{") else { throw error("missing '{' in \\u{xxxx}") }
    position += 2
    guard var code = peek().flatMap(Self.hexDigit) else { throw error("hexadecimal digit expected") }
    position += 1
    while let digit = peek().flatMap(Self.hexDigit) {
      code = code * 16 + digit
      guard code <= 0x7FFF_FFFF else { throw error("UTF-8 value too large") }
      position += 1
    }
    guard peek() == UInt8(ascii: "}") else { throw error("missing '}' in \\u{xxxx}") }
    position += 1
    guard code >= 0x80 else { return value.append(UInt8(code)) }
    var tail: [UInt8] = []
    var room = 0x3F
    repeat {
      tail.append(UInt8(0x80 | code & 0x3F))
      code >>= 6
      room >>= 1
    } while code > room
    value.append(UInt8(truncatingIfNeeded: ~room << 1 | code))
    value += tail.reversed()
  }

  // MARK: Numbers

  private mutating func number(from start: Int) -> LuaToken {
    var exponent: [UInt8] = [UInt8(ascii: "e"), UInt8(ascii: "E")]
    let isHex = peek() == UInt8(ascii: "0") && (peek(1) == UInt8(ascii: "x") || peek(1) == UInt8(ascii: "X"))
    if isHex {
      exponent = [UInt8(ascii: "p"), UInt8(ascii: "P")]
      position += 2
    }
    while let byte = peek() {
      if exponent.contains(byte) {
        position += 1
        if peek() == UInt8(ascii: "-") || peek() == UInt8(ascii: "+") { position += 1 }
      } else if Self.hexDigit(byte) != nil || byte == UInt8(ascii: ".") {
        position += 1
      } else {
        break
      }
    }
    if let byte = peek(), Self.isLetter(byte) { position += 1 }
    return token(.number, text[start..<position].text, from: start)
  }

  // MARK: Bytes

  private static func isLetter(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "_") || byte.isLetter }

  private static func hexDigit(_ byte: UInt8) -> Int? { HexDigit.value(byte).map { Int($0) } }
}

/// A word of a Lua text.
struct LuaToken: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    /// A name that is no keyword.
    case name
    case keyword
    /// An operator or a bracket, or a byte that no Lua text may have.
    case symbol
    case number
    /// A string; the token's text is its value.
    case string
    case end
  }

  let kind: Kind
  /// The word as written; of a string, its value.
  let text: String
  /// Its bytes in the text.
  let range: Range<Int>
  /// The line on which it ends, from 1, as Lua counts.
  let line: Int
}
