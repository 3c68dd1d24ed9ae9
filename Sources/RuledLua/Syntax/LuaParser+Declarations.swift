/// Functions and local variables, which declare names.
extension LuaParser {
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
