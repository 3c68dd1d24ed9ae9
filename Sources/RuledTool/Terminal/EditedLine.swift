/// A line that is being typed: its text, the cursor, and what keys do with them.
struct EditedLine: Equatable {
  /// What a person pressed.
  enum Key: Equatable {
    case character(Character)
    case enter, tab, interrupt, end
    case backspace, delete, deleteWord, deleteToStart, deleteToEnd
    case left, right, home, endOfLine, wordLeft, wordRight
    case up, down, clear
    /// Something without a meaning here.
    case other
  }

  /// The text.
  private(set) var characters: [Character] = []
  /// How many characters are before the cursor.
  private(set) var cursor = 0

  /// An empty line.
  init() {}

  /// A line with the cursor at its end.
  init(_ text: String) {
    characters = Array(text)
    cursor = characters.count
  }

  /// The text.
  var text: String { String(characters) }
  /// The text before the cursor.
  var head: String { String(characters[..<cursor]) }

  /// Puts text at the cursor.
  mutating func insert(_ text: some Collection<Character>) {
    characters.insert(contentsOf: text, at: cursor)
    cursor += text.count
  }

  /// Removes so many characters before the cursor.
  mutating func removeBefore(_ count: Int) {
    let start = max(0, cursor - count)
    characters.removeSubrange(start..<cursor)
    cursor = start
  }

  /// Does what a key of editing does; other keys do nothing.
  mutating func press(_ key: Key) {
    switch key {
    case .character(let character): insert([character])
    case .backspace: removeBefore(1)
    case .delete: if cursor < characters.count { characters.remove(at: cursor) }
    case .deleteWord: removeBefore(cursor - wordStart)
    case .deleteToStart: removeBefore(cursor)
    case .deleteToEnd: characters.removeSubrange(cursor...)
    case .left: cursor = max(0, cursor - 1)
    case .right: cursor = min(characters.count, cursor + 1)
    case .home: cursor = 0
    case .endOfLine: cursor = characters.count
    case .wordLeft: cursor = wordStart
    case .wordRight:
      while cursor < characters.count, !Self.isWord(characters[cursor]) { cursor += 1 }
      while cursor < characters.count, Self.isWord(characters[cursor]) { cursor += 1 }
    case .enter, .tab, .interrupt, .end, .up, .down, .clear, .other: break
    }
  }

  private var wordStart: Int {
    var start = cursor
    while start > 0, !Self.isWord(characters[start - 1]) { start -= 1 }
    while start > 0, Self.isWord(characters[start - 1]) { start -= 1 }
    return start
  }

  private static func isWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  // MARK: Keys

  /// Reads the next key from bytes that a terminal sends; `next` gives the next byte, nil at the end.
  static func key(_ next: () -> UInt8?) -> Key {
    guard let byte = next() else { return .end }
    switch byte {
    case 1: return .home
    case 2: return .left
    case 3: return .interrupt
    case 4: return .end
    case 5: return .endOfLine
    case 6: return .right
    case 8, 127: return .backspace
    case 9: return .tab
    case 10, 13: return .enter
    case 11: return .deleteToEnd
    case 12: return .clear
    case 14: return .down
    case 16: return .up
    case 21: return .deleteToStart
    case 23: return .deleteWord
    case 27: return escape(next)
    case ..<32: return .other
    case ..<128: return .character(Character(UnicodeScalar(byte)))
    default: return character(byte, next)
    }
  }

  private static func escape(_ next: () -> UInt8?) -> Key {
    guard let first = next() else { return .end }
    if first == UInt8(ascii: "b") { return .wordLeft }
    if first == UInt8(ascii: "f") { return .wordRight }
    guard first == UInt8(ascii: "[") || first == UInt8(ascii: "O") else { return .other }
    var parameters: [UInt8] = []
    while let byte = next() {
      guard byte < 0x40 else { return key(ofSequence: byte, String(decoding: parameters, as: UTF8.self)) }
      parameters.append(byte)
    }
    return .end
  }

  private static func key(ofSequence final: UInt8, _ parameters: String) -> Key {
    let isWithControl = parameters.hasSuffix(";5") || parameters.hasSuffix(";3")
    switch (final, parameters) {
    case (UInt8(ascii: "A"), _): return .up
    case (UInt8(ascii: "B"), _): return .down
    case (UInt8(ascii: "C"), _): return isWithControl ? .wordRight : .right
    case (UInt8(ascii: "D"), _): return isWithControl ? .wordLeft : .left
    case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): return .home
    case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): return .endOfLine
    case (UInt8(ascii: "~"), "3"): return .delete
    default: return .other
    }
  }

  private static func character(_ first: UInt8, _ next: () -> UInt8?) -> Key {
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1
    var bytes = [first]
    while bytes.count < length, let byte = next() { bytes.append(byte) }
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.count == 1, let character = text.first, character != "\u{FFFD}" else { return .other }
    return .character(character)
  }
}
