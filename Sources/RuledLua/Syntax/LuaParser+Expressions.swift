extension LuaParser {
  /// The strength with which operators bind to their left and right sides.
  private static let priorities: [String: (left: Int, right: Int)] = [
    "or": (1, 1), "and": (2, 2), "<": (3, 3), ">": (3, 3), "<=": (3, 3), ">=": (3, 3), "~=": (3, 3), "==": (3, 3),
    "|": (4, 4), "~": (5, 5), "&": (6, 6), "<<": (7, 7), ">>": (7, 7), "..": (9, 8), "+": (10, 10), "-": (10, 10),
    "*": (11, 11), "/": (11, 11), "//": (11, 11), "%": (11, 11), "^": (14, 13),
  ]
  private static let unaryPriority = 12

  /// Reads one expression or several with commas between them.
  mutating func expressions() throws(SyntaxError) -> SyntaxNode {
    let start = token
    var values = [try expression()]
    while try take(",") { values.append(try expression()) }
    return node(.list, start, values)
  }

  mutating func expression() throws(SyntaxError) -> SyntaxNode { try operation(above: 0) }

  /// Reads an operator's only or right operand.
  private mutating func operand(above limit: Int) throws(SyntaxError) -> SyntaxNode {
    try nested { (parser) throws(SyntaxError) in try parser.operation(above: limit) }
  }

  /// Reads an expression whose operators bind more strongly than `limit`.
  private mutating func operation(above limit: Int) throws(SyntaxError) -> SyntaxNode {
    let start = token
    var left: SyntaxNode
    if isAt("not") || isAt("-") || isAt("~") || isAt("#") {
      try advance()
      let value = try operand(above: Self.unaryPriority)
      left = node(.unary, start, [value], text: start.text)
      left.mark = start.range
    } else {
      left = try simpleExpression()
    }
    while token.kind == .symbol || token.kind == .keyword, let priority = Self.priorities[token.text],
      priority.left > limit
    {
      let operation = token
      try advance()
      let right = try operand(above: priority.right)
      left = try link(.binary, start, [left, right], text: operation.text, mark: operation.range)
    }
    return left
  }

  private mutating func simpleExpression() throws(SyntaxError) -> SyntaxNode {
    let start = token
    let kind: SyntaxNode.Kind
    switch (token.kind, token.text) {
    case (.number, _): kind = .number
    case (.string, _): kind = .string
    case (.keyword, "nil"): kind = .nil
    case (.keyword, "true"): kind = .true
    case (.keyword, "false"): kind = .false
    case (.symbol, "..."): kind = .vararg
    case (.symbol, "{"): return try table()
    case (.keyword, "function"):
      try advance()
      return try functionBody(start)
    default: return try suffixedExpression()
    }
    try advance()
    return node(kind, start, text: start.text)
  }

  /// Reads a name or a parenthesis with all keys and calls after it.
  mutating func suffixedExpression() throws(SyntaxError) -> SyntaxNode {
    let start = token
    var value: SyntaxNode
    if token.kind == .name {
      let name = try takeName()
      value = Self.name(name, scopes.find(name.text))
    } else if isAt("(") {
      try advance()
      let inner = try nested { (parser) throws(SyntaxError) in try parser.expression() }
      try expect(")", toClose: "(", at: start.line)
      value = node(.parenthesis, start, [inner])
    } else {
      throw unexpected("unexpected symbol")
    }
    while true {
      if token.kind == .string || isAt("(") || isAt("{") {
        let arguments = try arguments()
        value = try link(.call, start, [value, arguments])
      } else if isAt(".") {
        try advance()
        let key = try takeName()
        value = try link(
          .index, start, [value, SyntaxNode(kind: .string, range: key.range, line: key.line, text: key.text)])
      } else if isAt("[") {
        try advance()
        let key = try nested { (parser) throws(SyntaxError) in try parser.expression() }
        try expect("]")
        value = try link(.index, start, [value, key])
      } else if isAt(":") {
        try advance()
        let method = try takeName()
        let arguments = try arguments()
        value = try link(.methodCall, start, [value, arguments], text: method.text, mark: method.range)
      } else {
        return value
      }
    }
  }

  private mutating func arguments() throws(SyntaxError) -> SyntaxNode {
    try nested { (parser) throws(SyntaxError) in try parser.argumentList() }
  }

  private mutating func argumentList() throws(SyntaxError) -> SyntaxNode {
    let start = token
    if token.kind == .string { return node(.list, start, [try simpleExpression()]) }
    if isAt("{") { return node(.list, start, [try table()]) }
    guard isAt("(") else { throw unexpected("function arguments expected") }
    try advance()
    if try take(")") { return node(.list, start) }
    var list = try expressions()
    try expect(")", toClose: "(", at: start.line)
    list.range = start.range.lowerBound..<lastEnd
    return list
  }

  private mutating func table() throws(SyntaxError) -> SyntaxNode {
    try nested { (parser) throws(SyntaxError) in try parser.fields() }
  }

  private mutating func fields() throws(SyntaxError) -> SyntaxNode {
    let start = token
    try expect("{")
    var fields: [SyntaxNode] = []
    while !isAt("}") {
      fields.append(try field())
      let separated = try take(",") ? true : try take(";")
      if !separated { break }
    }
    try expect("}", toClose: "{", at: start.line)
    return node(.table, start, fields)
  }

  private mutating func field() throws(SyntaxError) -> SyntaxNode {
    let start = token
    if isAt("[") {
      try advance()
      let key = try expression()
      try expect("]")
      try expect("=")
      let value = try expression()
      return node(.namedField, start, [key, value])
    }
    if token.kind == .name {
      let next = try peekNext()
      if next.kind == .symbol, next.text == "=" {
        let key = SyntaxNode(kind: .string, range: token.range, line: token.line, text: token.text)
        try advance()
        try advance()
        let value = try expression()
        return node(.namedField, start, [key, value])
      }
    }
    let value = try expression()
    return node(.positionalField, start, [value])
  }

  /// Reads parameters and block of a function, after the word `function` and the name.
  mutating func functionBody(_ start: LuaToken, isMethod: Bool = false) throws(SyntaxError) -> SyntaxNode {
    let open = token
    try expect("(")
    var names: [LuaToken] = []
    if !isAt(")") {
      repeat {
        if try take("...") { break }
        guard token.kind == .name else { throw unexpected("<name> or '...' expected") }
        names.append(try takeName())
      } while try take(",")
    }
    scopes.openBlock()
    if isMethod { scopes.declare("self", isParameter: true) }
    try expect(")")
    var list = node(.list, open)
    list.children = declare(names, isParameter: true)
    let block = try block()
    try expect("end", toClose: "function", at: start.line)
    scopes.closeBlock()
    return node(.function, start, [list, block])
  }

  // MARK: Declarations

  mutating func functionStatement() throws(SyntaxError) -> SyntaxNode {
    let start = token
    try advance()
    let name = try takeName()
    var target = Self.name(name, scopes.find(name.text))
    var isMethod = false
    while isAt(".") || isAt(":") {
      isMethod = isAt(":")
      try advance()
      let key = try takeName()
      let string = SyntaxNode(kind: .string, range: key.range, line: key.line, text: key.text)
      target = try link(.index, name, [target, string])
      if isMethod { break }
    }
    let function = try functionBody(start, isMethod: isMethod)
    return node(.functionStatement, start, [target, function])
  }

  mutating func localFunction(_ start: LuaToken) throws(SyntaxError) -> SyntaxNode {
    let name = try takeName()
    let local = scopes.declare(name.text)
    let function = try functionBody(start)
    return node(.localFunction, start, [Self.name(name, local), function])
  }

  mutating func localVariables(_ start: LuaToken) throws(SyntaxError) -> SyntaxNode {
    var names: [LuaToken] = []
    repeat {
      names.append(try takeName())
      if try take("<") {
        _ = try takeName()
        try expect(">")
      }
    } while try take(",")
    let list = node(.list, names[0])
    let values = try take("=") ? try expressions() : node(.list, token)
    var targets = list
    targets.children = declare(names)
    return node(.local, start, [targets, values])
  }

  /// The nodes of names that are visible from here on.
  mutating func declare(_ names: [LuaToken], isParameter: Bool = false) -> [SyntaxNode] {
    names.map { Self.name($0, scopes.declare($0.text, isParameter: isParameter)) }
  }
}
