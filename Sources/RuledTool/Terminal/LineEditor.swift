internal import Glibc
internal import RuledCore
internal import RuledStore

/// Lets a person type lines on a terminal: with the usual keys, earlier lines and completion.
final class LineEditor {
  /// What the end of a line may be completed to; each candidate replaces the line's last word.
  var completion: (String) -> [String] = { _ in [] }

  private let input: Int32 = 0
  private let output: Int32 = 1
  private var history: LineHistory
  private var line = EditedLine()
  /// Which earlier line is shown; the count of all for the new one.
  private var shown = 0
  private var typed = EditedLine()

  /// An editor of standard input and output.
  init(history: LineHistory) { self.history = history }

  /// The next line; nil when the person ends with Ctrl-D or the terminal is gone.
  func readLine(prompt: String) -> String? {
    var before = termios()
    guard tcgetattr(input, &before) == 0 else { return nil }
    var mode = before
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
    mode.c_iflag &= ~tcflag_t(IXON | ICRNL)
    tcsetattr(input, TCSADRAIN, &mode)
    defer { tcsetattr(input, TCSADRAIN, &before) }
    line = EditedLine()
    shown = history.lines.count
    while true {
      draw(prompt)
      let key = EditedLine.key { [input] in Self.byte(input) }
      switch key {
      case .enter:
        write("\n")
        history.add(line.text)
        return line.text
      case .interrupt:
        write("^C\n")
        line = EditedLine()
        shown = history.lines.count
      case .end:
        guard line.characters.isEmpty else {
          line.press(.delete)
          continue
        }
        write("\n")
        return nil
      case .tab: complete()
      case .up: show(shown - 1)
      case .down: show(shown + 1)
      case .clear: write("\u{1B}[H\u{1B}[2J")
      default: line.press(key)
      }
    }
  }

  // MARK: Earlier lines

  private func show(_ index: Int) {
    guard (0...history.lines.count).contains(index) else { return }
    if shown == history.lines.count { typed = line }
    shown = index
    line = index == history.lines.count ? typed : EditedLine(history.lines[index])
  }

  // MARK: Completion

  /// Completes what all candidates begin with; lists them if that is nothing new.
  private func complete() {
    let candidates = completion(line.head)
    guard let first = candidates.first else { return }
    let word = ReplCompletion.word(of: line.head)
    let common = candidates.dropFirst().reduce(first) { $0.commonPrefix(with: $1) }
    if common.count > word.count {
      line.removeBefore(word.count)
      line.insert(common)
      return
    }
    guard candidates.count > 1 else { return }
    write("\n" + candidates.joined(separator: "  ").printable + "\n")
  }

  // MARK: Terminal

  /// Draws the line: what of it fits on one row, with the cursor in it.
  private func draw(_ prompt: String) {
    var size = winsize()
    let columns = ioctl(output, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    let room = max(8, columns - prompt.count - 1)
    let start = max(0, line.cursor - room)
    let visible = line.characters[start..<min(line.characters.count, start + room)]
    let column = prompt.count + line.cursor - start
    write("\r\u{1B}[K\(prompt)\(String(visible).printable)\r" + (column > 0 ? "\u{1B}[\(column)C" : ""))
  }

  private func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(output, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      bytes = bytes.dropFirst(max(count, 0))
    }
  }

  private static func byte(_ input: Int32) -> UInt8? {
    var byte: UInt8 = 0
    while true {
      let count = read(input, &byte, 1)
      if count == 1 { return byte }
      if count == 0 || errno != EINTR { return nil }
    }
  }
}

extension String {
  /// What both texts begin with.
  fileprivate func commonPrefix(with other: String) -> String {
    String(zip(self, other).prefix { $0 == $1 }.map(\.0))
  }
}

/// A line that is being typed: its text, the cursor, and what keys do with them.
struct EditedLine: Equatable {
  enum Key: Equatable {
    case character(Character)
    case enter, tab, interrupt, end
    case backspace, delete, deleteWord, deleteToStart, deleteToEnd
    case left, right, home, endOfLine, wordLeft, wordRight
    case up, down, clear
    /// Something without a meaning here.
    case other
  }

  private(set) var characters: [Character] = []
  /// How many characters are before the cursor.
  private(set) var cursor = 0

  init() {}

  /// A line with the cursor at its end.
  init(_ text: String) {
    characters = Array(text)
    cursor = characters.count
  }

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

/// The lines that a person typed, in this and in earlier sessions.
struct LineHistory {
  /// How many are kept.
  static let most = 1000

  /// The lines, the oldest first.
  private(set) var lines: [String] = []
  private let folder: String?

  /// The history of `rulectl` in the folder that the variables name; kept nowhere if they name none.
  init(_ variables: [String: String]) {
    func named(_ name: String) -> String? { variables[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    let states = named("XDG_STATE_HOME") ?? named("HOME").map { "\($0)/.local/state" }
    folder = states.map { "\($0)/rulectl" }
    guard let folder, let text = try? Input(path: Self.path(in: folder)).readAll() else { return }
    lines = text.split(separator: UInt8(ascii: "\n")).suffix(Self.most).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Adds a line, unless it is empty or repeats the last one, and writes the file, which its owner alone may read.
  mutating func add(_ line: String) {
    guard !line.allSatisfy({ $0 == " " }), line != lines.last else { return }
    lines = (lines + [line]).suffix(Self.most)
    guard let folder else { return }
    let before = umask(0o077)
    defer { umask(before) }
    // A history that can't be kept is no reason to end the session.
    try? Folder.create(folder)
    let text = Array((lines.joined(separator: "\n") + "\n").utf8)
    try? WholeFile.replace(Self.path(in: folder), with: text, forOwner: true)
  }

  private static func path(in folder: String) -> String { "\(folder)/history" }
}
