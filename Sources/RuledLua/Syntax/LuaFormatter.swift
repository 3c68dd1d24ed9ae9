/// Lays Lua out: indentation, spaces and blank lines; line breaks, words and comments stay as they are.
///
/// A level is two spaces. Two or more spaces stay before `=` and comments and after commas, where columns may be aligned, and one stays before
/// the parenthesis of a call.
package struct LuaFormatter {
  /// A word or a comment, and the space before it.
  private struct Item {
    let range: Range<Int>
    /// The word; nil for a comment.
    let token: LuaToken?
    let linesBefore: Int
    let spacesBefore: Int
  }

  /// A word that `end`, `until` or a bracket closes.
  private struct Opener {
    let text: String
    /// The indentation of its line.
    let indent: Int
    /// Whether `then` or `do` is still to come.
    var awaits: Bool
    /// Whether nothing follows on its line.
    let endsLine: Bool
  }

  private static let step = 2
  private static let closers: Set<String> = ["end", "until", "else", "elseif", ")", "]", "}"]
  private static let binary: Set<String> = [
    "and", "or", "+", "-", "*", "/", "//", "%", "^", "..", "==", "~=", "<", ">", "<=", ">=", "&", "|", "~", "<<", ">>",
    "=",
  ]

  private let text: [UInt8]
  private var items: [Item] = []
  private var openers: [Opener] = []
  private var output: [UInt8] = []
  private var indent = 0
  private var isInLabel = false
  /// The item at which the search for the next word goes on.
  private var nextToken = 0

  package static func format(_ text: [UInt8]) throws(SyntaxError) -> [UInt8] {
    _ = try SyntaxTree(parsing: text)
    var formatter = LuaFormatter(text)
    try formatter.readItems()
    formatter.write()
    return formatter.output
  }

  /// Whether two texts have the same words and comments in the same order, line ends and spaces in comments apart.
  package static func haveSameWords(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    guard let left = try? words(of: one), let right = try? words(of: other) else { return false }
    return left == right
  }

  private static func words(of text: [UInt8]) throws(SyntaxError) -> [[UInt8]] {
    var formatter = LuaFormatter(text)
    try formatter.readItems()
    return formatter.items.map { formatter.word($0) }
  }

  private init(_ text: [UInt8]) { self.text = text }

  // MARK: Words

  private mutating func readItems() throws(SyntaxError) {
    var lexer = LuaLexer(text)
    var known = 0
    while true {
      let token = try lexer.next()
      for comment in lexer.comments[known...] { add(comment, nil) }
      known = lexer.comments.count
      if token.kind == .end { return }
      add(token.range, token)
    }
  }

  /// Adds a word or a comment, with the line ends and the spaces before it.
  private mutating func add(_ range: Range<Int>, _ token: LuaToken?) {
    let gap = text[(items.last?.range.upperBound ?? 0)..<range.lowerBound]
    let lines = gap.count { $0 == UInt8(ascii: "\n") }
    items.append(Item(range: range, token: token, linesBefore: lines, spacesBefore: gap.count - lines))
  }

  /// A word as it is written; of a comment that ends with its line, without spaces at its end.
  private func word(_ item: Item) -> [UInt8] {
    var word = text[item.range]
    if item.token == nil {
      while let last = word.last, [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")].contains(last) {
        word.removeLast()
      }
    }
    return Array(word)
  }

  // MARK: Lines

  private mutating func write() {
    var previous: LuaToken?
    for (index, item) in items.enumerated() {
      let isFirst = index == 0
      if isFirst || item.linesBefore > 0 {
        let lines = isFirst ? 0 : min(item.linesBefore, 2)
        output += Array(repeating: UInt8(ascii: "\n"), count: lines)
        indent = indentation(at: index, after: previous)
        output += Array(repeating: UInt8(ascii: " "), count: indent)
      } else {
        output += Array(repeating: UInt8(ascii: " "), count: spaces(at: index, after: previous))
      }
      output += word(item)
      guard let token = item.token else { continue }
      note(token, at: index)
      previous = token
    }
    if !items.isEmpty { output.append(UInt8(ascii: "\n")) }
  }

  /// The indentation of a line that begins with an item.
  private mutating func indentation(at index: Int, after previous: LuaToken?) -> Int {
    nextToken = max(nextToken, index)
    while nextToken < items.count, items[nextToken].token == nil { nextToken += 1 }
    let next = nextToken < items.count ? items[nextToken].token : nil
    guard let opener = openers.last else { return continues(next, previous) ? Self.step : 0 }
    if let token = items[index].token, Self.isWord(token) {
      if Self.closers.contains(token.text) { return opener.indent }
      if opener.awaits, token.text == "then" || token.text == "do" { return opener.indent }
    }
    let level = opener.indent + Self.step
    let isOnOpenersLine = !opener.endsLine && ["(", "[", "{"].contains(opener.text)
    let isInner = continues(next, previous) && !opener.awaits && !isOnOpenersLine
    return isInner ? level + Self.step : level
  }

  /// Whether a line that begins with `next` continues the line before it.
  private func continues(_ next: LuaToken?, _ previous: LuaToken?) -> Bool {
    guard let next, let previous else { return false }
    if Self.isWord(next), Self.closers.contains(next.text) { return false }
    if Self.isWord(next), Self.binary.contains(next.text) || next.text == "." || next.text == ":" {
      return next.text != "~" || Self.endsValue(previous)
    }
    let isArgument = next.kind == .string || Self.isWord(next) && next.text == "{"
    if isArgument, Self.endsValue(previous), previous.kind != .keyword { return true }
    guard Self.isWord(previous) else { return false }
    if previous.text == "," { return !(openers.last.map { ["(", "[", "{"].contains($0.text) } ?? false) }
    return Self.binary.contains(previous.text)
      || ["not", "#", ".", ":", "local", "in", "return"].contains(previous.text)
  }

  /// Opens and closes the blocks that a word opens and closes.
  private mutating func note(_ token: LuaToken, at index: Int) {
    guard Self.isWord(token) else { return }
    switch token.text {
    case "function", "repeat", "(", "[", "{": open(token.text, at: index)
    case "if", "while", "for": open(token.text, at: index, awaits: true)
    case "do":
      if openers.last?.awaits == true { openers[openers.count - 1].awaits = false } else { open("do", at: index) }
    case "then": openers[openers.count - 1].awaits = false
    case "elseif": openers[openers.count - 1].awaits = true
    case "end", "until", ")", "]", "}": openers.removeLast()
    case "::": isInLabel.toggle()
    default: break
    }
  }

  private mutating func open(_ text: String, at index: Int, awaits: Bool = false) {
    let endsLine = index + 1 < items.count && items[index + 1].linesBefore > 0
    openers.append(Opener(text: text, indent: indent, awaits: awaits, endsLine: endsLine))
  }

  // MARK: Spaces

  /// How many spaces are before an item that does not begin a line.
  private func spaces(at index: Int, after previous: LuaToken?) -> Int {
    let found = items[index].spacesBefore
    guard let token = items[index].token, let previous, items[index - 1].token != nil else { return max(found, 1) }
    guard needsSpace(previous, token, at: index) else { return 0 }
    let mayAlign = Self.isWord(token) && token.text == "=" || Self.isWord(previous) && previous.text == ","
    return mayAlign ? max(found, 1) : 1
  }

  private func needsSpace(_ previous: LuaToken, _ next: LuaToken, at index: Int) -> Bool {
    let before = Self.isWord(previous) ? previous.text : ""
    let after = Self.isWord(next) ? next.text : ""
    if after == "," || after == ";" || after == ")" { return false }
    if before == "(" { return false }
    if before == "[" { return text[next.range.lowerBound] == UInt8(ascii: "[") }
    if after == "]" { return text[previous.range.upperBound - 1] == UInt8(ascii: "]") && previous.kind == .string }
    if before == "{" { return after != "}" }
    if after == "}" { return true }
    if [".", ":"].contains(before) || [".", ":"].contains(after) { return false }
    if before == "::" { return !isInLabel }
    if after == "::", isInLabel { return false }
    if isUnary(at: index - 1) { return before == "-" && text[next.range.lowerBound] == UInt8(ascii: "-") }
    if isAttribute(at: index - 1) || isAttribute(at: index - 2) { return isAttribute(at: index - 2) && after != ">" }
    if isAttribute(at: index) { return true }
    switch after {
    case "(" where previous.kind == .name || [")", "]", "}"].contains(before): return items[index].spacesBefore > 0
    case "(": return before != "function"
    case "[": return !(previous.kind == .name || [")", "]"].contains(before))
    default: return true
    }
  }

  /// Whether the item is an operator that stands before its only operand.
  private func isUnary(at index: Int) -> Bool {
    guard index >= 0, let token = items[index].token, Self.isWord(token) else { return false }
    if token.text == "#" { return true }
    guard token.text == "-" || token.text == "~" else { return false }
    guard let previous = items[..<index].last(where: { $0.token != nil })?.token else { return true }
    return !Self.endsValue(previous)
  }

  /// Whether the item begins `<const>` or `<close>`.
  private func isAttribute(at index: Int) -> Bool {
    guard index > 0, index + 2 < items.count, let token = items[index].token, Self.isWord(token), token.text == "<",
      let name = items[index + 1].token, name.kind == .name, ["const", "close"].contains(name.text)
    else { return false }
    return items[index + 2].token?.text == ">"
  }

  // MARK: Kinds of words

  private static func isWord(_ token: LuaToken) -> Bool { token.kind == .symbol || token.kind == .keyword }

  /// Whether a value may end with the word.
  private static func endsValue(_ token: LuaToken) -> Bool {
    !isWord(token) || ["...", ")", "]", "}", "end", "nil", "true", "false"].contains(token.text)
  }
}
