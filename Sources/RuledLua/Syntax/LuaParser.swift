/// Reads Lua 5.4 as its own parser does (lparser.c): the statements.
struct LuaParser {
  /// How deep tables, calls, brackets, blocks and operators may be nested, those of a chain such as `1 + 1 + 1` and labels in a
  /// row too.
  private static let mostLevels = 200

  private var lexer: LuaLexer
  /// The word at hand, the one after it, and the end and the line of the one before it.
  private(set) var token: LuaToken
  private var ahead: LuaToken?
  private(set) var lastEnd = 0
  private var lastLine = 1
  /// How many levels are around the word at hand; the file's own block is none.
  private var openLevels = -1
  /// The line of the latest `else` with an `if` beside it.
  private var elseIfLine: Int?
  var scopes = LuaScopes()

  init(_ text: [UInt8]) throws(SyntaxError) {
    lexer = LuaLexer(text)
    token = try lexer.next()
  }

  mutating func chunk() throws(SyntaxError) -> SyntaxNode {
    scopes.openBlock()
    let block = try block()
    guard token.kind == .end else { throw unexpected("'<eof>' expected") }
    scopes.closeBlock()
    return block
  }

  // MARK: Words

  mutating func advance() throws(SyntaxError) {
    (lastEnd, lastLine) = (token.range.upperBound, token.line)
    if let ahead {
      token = ahead
      self.ahead = nil
    } else {
      token = try lexer.next()
    }
  }

  mutating func peekNext() throws(SyntaxError) -> LuaToken {
    if let ahead { return ahead }
    let next = try lexer.next()
    ahead = next
    return next
  }

  func isAt(_ text: String) -> Bool { (token.kind == .symbol || token.kind == .keyword) && token.text == text }

  mutating func take(_ text: String) throws(SyntaxError) -> Bool {
    guard isAt(text) else { return false }
    try advance()
    return true
  }

  mutating func expect(_ text: String, toClose opened: String? = nil, at line: Int = 0) throws(SyntaxError) {
    guard isAt(text) else {
      let opening = opened.map { line == token.line ? "" : " (to close '\($0)' at line \(line))" } ?? ""
      throw unexpected("'\(text)' expected\(opening)")
    }
    try advance()
  }

  mutating func takeName() throws(SyntaxError) -> LuaToken {
    guard token.kind == .name else { throw unexpected("<name> expected") }
    let name = token
    try advance()
    return name
  }

  func unexpected(_ message: String, hint: String? = nil) -> SyntaxError {
    SyntaxError(
      line: token.line, message: "\(message) near '\(token.text)'", hint: hint ?? operatorHint ?? blockHint(message))
  }

  /// The spelling in Lua for a statement, a block or a table of another language.
  private func blockHint(_ message: String) -> String? {
    func isMinus(_ place: Int) -> Bool { lexer.byte(at: place) == UInt8(ascii: "-") }
    return switch (token.text, message.prefix { $0 != " " }) {
    case ("{", "'then'"): "'if a {' is written if a then"
    case (":", "'}'"): "'{ \"a\": 1 }' is written { a = 1 }"
    case ("=", "'then'"), ("=", "'do'"): "'a = b' is no condition, a == b is"
    case ("[", "unexpected"): "'[1, 2]' is written { 1, 2 }"
    case (_, "'end'"), ("}", "unexpected"), (")", "unexpected"):
      elseIfLine.map { "'else if' at line \($0) is written elseif" }
    case (_, "syntax") where isMinus(lastEnd) && isMinus(lastEnd + 1): "'a--' is written a = a - 1"
    case (_, "'}'") where token.kind == .string || token.kind == .name: "a comma is missing before it"
    default: nil
    }
  }

  /// The spellings in Lua for operators of other languages; one that holds another stands before it.
  private static let operatorHints =
    [
      ("===", "'===' is written =="), ("!=", "'!=' is written ~="), ("<>", "'<>' is written ~="),
      ("=<", "'=<' is written <="), ("=>", "'(a) => b' is written function(a) return b end"),
      (":=", "'a := b' is written a = b"), ("||=", "'a ||= b' is written a = a or b"),
      ("&&=", "'a &&= b' is written a = a and b"), ("&&", "'&&' is written and"), ("||", "'||' is written or"),
      ("??", "'a ?? b' is written a or b"), ("?.", "'a?.b' is written a and a.b"),
      ("++", "'a++' is written a = a + 1"), ("**", "'a ** b' is written a ^ b"),
      ("/*", "'/* comment */' is written --[[ comment ]]"), ("//", "'// comment' is written -- comment"),
      ("!", "'!' is written not"), ("==", "'a == b' compares, a = b assigns"),
      ("?", "'a ? b : c' is written a and b or c"),
    ] + ["+", "-", "*", "/", "%", "^", "..", "&", "|"].map { ("\($0)=", "'a \($0)= b' is written a = a \($0) b") }
  private static let operatorBytes = Set("!=<>:|&?.+*/%^-".utf8)

  /// The spelling in Lua for the operator of another language, of which the word at hand is a part.
  private var operatorHint: String? {
    func isOperator(_ place: Int) -> Bool { lexer.byte(at: place).map(Self.operatorBytes.contains) == true }
    guard token.kind == .symbol, isOperator(token.range.lowerBound) else { return nil }
    var (first, end) = (token.range.lowerBound, token.range.upperBound)
    while isOperator(first - 1) { first -= 1 }
    while isOperator(end) { end += 1 }
    let word = String(decoding: (first..<end).compactMap(lexer.byte(at:)), as: UTF8.self)
    return Self.operatorHints.first { word.contains($0.0) }?.1
  }

  /// Reads a part that is one level deeper.
  mutating func nested<Result>(_ body: (inout LuaParser) throws(SyntaxError) -> Result) throws(SyntaxError) -> Result {
    openLevels += 1
    defer { openLevels -= 1 }
    try checkLevels(openLevels, at: token.line)
    return try body(&self)
  }

  private func checkLevels(_ count: Int, at line: Int) throws(SyntaxError) {
    guard count > Self.mostLevels else { return }
    throw SyntaxError(
      line: line,
      message:
        "nested deeper than \(Self.mostLevels) levels (tables, calls, brackets, blocks, operators, labels); split it",
      isTooDeep: true)
  }

  func node(
    _ kind: SyntaxNode.Kind, _ start: LuaToken, _ children: [SyntaxNode] = [], text: String = ""
  ) -> SyntaxNode {
    SyntaxNode(
      kind: kind, range: start.range.lowerBound..<max(lastEnd, start.range.lowerBound), line: start.line, text: text,
      levels: children.reduce(0) { max($0, $1.levels) } + (kind.isLevel ? 1 : 0), children: children)
  }

  /// A node around the expression that was read before it, one level deeper.
  func link(
    _ kind: SyntaxNode.Kind, _ start: LuaToken, _ children: [SyntaxNode], text: String = "", mark: Range<Int> = 0..<0
  ) throws(SyntaxError) -> SyntaxNode {
    var link = node(kind, start, children, text: text)
    link.mark = mark
    try checkLevels(openLevels + link.levels, at: lastLine)
    return link
  }

  static func name(_ token: LuaToken, _ local: Int?) -> SyntaxNode {
    SyntaxNode(kind: .name, range: token.range, line: token.line, text: token.text, local: local)
  }

  // MARK: Blocks

  private var isBlockEnd: Bool {
    token.kind == .end || isAt("else") || isAt("elseif") || isAt("end") || isAt("until")
  }

  /// Reads statements up to a word that ends a block.
  mutating func block() throws(SyntaxError) -> SyntaxNode {
    try nested { (parser) throws(SyntaxError) in
      let start = parser.token
      var statements: [SyntaxNode] = []
      // Lua reads a label within the label right before it.
      var labels = 0
      while !parser.isBlockEnd {
        let isReturn = parser.isAt("return")
        if let statement = try parser.statement() {
          statements.append(statement)
          labels = statement.kind == .label ? labels + 1 : 0
          try parser.checkLevels(parser.openLevels + labels, at: statement.line)
        }
        if isReturn { break }
      }
      return parser.node(.block, start, statements)
    }
  }

  private mutating func scopedBlock() throws(SyntaxError) -> SyntaxNode {
    scopes.openBlock()
    let block = try block()
    scopes.closeBlock()
    return block
  }

  private mutating func statement() throws(SyntaxError) -> SyntaxNode? {
    let start = token
    guard token.kind == .keyword || token.kind == .symbol else { return try expressionStatement() }
    switch token.text {
    case ";":
      try advance()
      return nil
    case "if": return try ifStatement()
    case "while":
      try advance()
      let condition = try expression()
      try expect("do")
      let block = try scopedBlock()
      try expect("end", toClose: "while", at: start.line)
      return node(.whileLoop, start, [condition, block])
    case "do":
      try advance()
      let block = try scopedBlock()
      try expect("end", toClose: "do", at: start.line)
      return node(.doBlock, start, [block])
    case "for": return try forLoop()
    case "repeat": return try repeatLoop()
    case "function": return try functionStatement()
    case "local":
      try advance()
      return try take("function") ? try localFunction(start) : try localVariables(start)
    case "::": return try label()
    case "return":
      try advance()
      let values = isBlockEnd || isAt(";") ? node(.list, token) : try expressions()
      _ = try take(";")
      return node(.returnStatement, start, [values])
    case "break":
      try advance()
      return node(.breakStatement, start)
    case "goto":
      try advance()
      let name = try takeName()
      return node(.gotoStatement, start, text: name.text)
    default: return try expressionStatement()
    }
  }

  private mutating func ifStatement() throws(SyntaxError) -> SyntaxNode {
    let start = token
    var parts: [SyntaxNode] = []
    repeat {
      try advance()
      parts.append(try expression())
      try expect("then")
      parts.append(try scopedBlock())
    } while isAt("elseif")
    if try take("else") {
      if isAt("if"), token.line == lastLine { elseIfLine = lastLine }
      parts.append(try scopedBlock())
    }
    try expect("end", toClose: "if", at: start.line)
    return node(.ifStatement, start, parts)
  }

  private mutating func repeatLoop() throws(SyntaxError) -> SyntaxNode {
    let start = token
    try advance()
    scopes.openBlock()
    let block = try block()
    try expect("until", toClose: "repeat", at: start.line)
    let condition = try expression()
    scopes.closeBlock()
    return node(.repeatLoop, start, [block, condition])
  }

  private mutating func forLoop() throws(SyntaxError) -> SyntaxNode {
    let start = token
    try advance()
    let first = try takeName()
    if isAt("=") {
      try advance()
      var parts = [try expression()]
      try expect(",")
      parts.append(try expression())
      if try take(",") { parts.append(try expression()) }
      let (names, block) = try loopBody([first], start)
      return node(.numericFor, start, names + parts + [block])
    }
    var names = [first]
    while try take(",") { names.append(try takeName()) }
    try expect("in")
    let values = try expressions()
    let (variables, block) = try loopBody(names, start)
    let list = SyntaxNode(
      kind: .list, range: first.range.lowerBound..<first.range.upperBound, line: first.line, children: variables)
    return node(.genericFor, start, [list, values, block])
  }

  private mutating func loopBody(
    _ names: [LuaToken], _ start: LuaToken
  ) throws(SyntaxError) -> ([SyntaxNode], SyntaxNode) {
    try expect("do")
    scopes.openBlock()
    let variables = declare(names)
    let block = try block()
    scopes.closeBlock()
    try expect("end", toClose: "for", at: start.line)
    return (variables, block)
  }

  private mutating func label() throws(SyntaxError) -> SyntaxNode {
    let start = token
    try advance()
    let name = try takeName()
    try expect("::")
    return node(.label, start, text: name.text)
  }

  // MARK: Expressions as statements

  /// The spelling in Lua for statements of other languages, by their first word.
  private static let statementHints = [
    "continue": "'continue' is written goto continue, with ::continue:: before the end of the loop",
    "var": "'var a' is written local a", "let": "'let a' is written local a", "const": "'const a' is written local a",
    "elif": "'elif' is written elseif", "elsif": "'elsif' is written elseif",
    "throw": "'throw' is written error(…)", "import": "'import' is written require \"name\"",
  ]

  private mutating func expressionStatement() throws(SyntaxError) -> SyntaxNode {
    let start = token
    let first = try suffixedExpression()
    guard isAt("=") || isAt(",") else {
      guard first.kind == .call || first.kind == .methodCall else {
        throw unexpected("syntax error", hint: first.globalName.flatMap { Self.statementHints[$0] })
      }
      return node(.callStatement, start, [first])
    }
    var targets = [first]
    try checkAssignable(first)
    while try take(",") {
      let target = try suffixedExpression()
      try checkAssignable(target)
      targets.append(target)
      try checkLevels(targets.count, at: token.line)
    }
    let list = node(.list, start, targets)
    try expect("=")
    let values = try expressions()
    return node(.assignment, start, [list, values])
  }

  private func checkAssignable(_ target: SyntaxNode) throws(SyntaxError) {
    guard target.kind == .name || target.kind == .index else { throw unexpected("syntax error") }
  }
}
