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
    try checkAssignable(target)
    let function = try functionBody(start, isMethod: isMethod)
    return node(.functionStatement, start, [target, function])
  }

  mutating func localFunction(_ start: LuaToken) throws(SyntaxError) -> SyntaxNode {
    let name = try takeName()
    let local = try scopes.declare(name.text, line: name.line)
    let function = try functionBody(start)
    return node(.localFunction, start, [Self.name(name, local), function])
  }

  mutating func localVariables(_ start: LuaToken) throws(SyntaxError) -> SyntaxNode {
    var names: [(token: LuaToken, isConstant: Bool)] = []
    var closes = false
    repeat {
      let name = try takeName()
      var isConstant = false
      if try take("<") {
        let attribute = try takeName()
        guard attribute.text == "const" || attribute.text == "close" else {
          throw SyntaxError(line: attribute.line, message: "unknown attribute '\(attribute.text)'")
        }
        if attribute.text == "close" {
          guard !closes else {
            throw SyntaxError(line: name.line, message: "multiple to-be-closed variables in local list")
          }
          closes = true
        }
        try expect(">")
        isConstant = true
      }
      names.append((name, isConstant))
    } while try take(",")
    let list = node(.list, names[0].token)
    let values = try take("=") ? try expressions() : node(.list, token)
    var variables: [SyntaxNode] = []
    for (name, isConstant) in names {
      variables.append(Self.name(name, try scopes.declare(name.text, line: name.line, isConstant: isConstant)))
    }
    var targets = list
    targets.children = variables
    return node(.local, start, [targets, values])
  }
}
