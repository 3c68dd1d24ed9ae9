internal import RuledLua

/// Finds expressions that are valid Lua and probably mistakes: functions that are not called, unused results, operands of a type that the
/// operator does not take, `not a == b`, `a == "b" or "c"`, lists that begin at 0, and fields that a table has twice.
extension ValueReview {
  /// Functions of the host that change something, or that a caller may want to fail.
  private static let effective: Set<String> = ["emit", "once"]
  private static let pure = Set(
    RuleLibrary.functions.filter { !$0.results.isEmpty && !effective.contains($0.name) }.map(\.name)
      + ["tostring", "tonumber", "type", "string.format", "table.concat", "math.floor", "math.max", "math.min"])
  /// The values of `event.origin`.
  private static let origins = ["client", "message", "raise", "timer", "web"]
  private static let ranges = ["calendar.weekday": 1.0...7.0, "calendar.hour": 0.0...23.0]

  mutating func reviewExpression(_ node: SyntaxNode) {
    switch node.kind {
    case .callStatement: review(statement: node.children[0])
    case .call: review(called: node.children[0])
    case .binary: review(operation: node)
    case .ifStatement:
      for (index, part) in node.children.enumerated() where part.kind != .block || index % 2 == 0 {
        review(condition: part)
      }
    case .whileLoop: review(condition: node.children[0])
    case .repeatLoop: review(condition: node.children[1])
    case .unary: review(operand: node.children[0], of: node.text)
    case .numericFor:
      for bound in node.children[1..<node.children.count - 1] { review(operand: bound, of: "for") }
      review(loop: node)
    case .genericFor: review(values: node.children[1].children)
    case .table: review(table: node)
    default: break
    }
  }

  private mutating func review(called node: SyntaxNode) {
    let type = flow.type(of: node)
    guard type != .any, type != .function, type != .table else { return }
    add(node, .oddExpression, "\(text(node)) is \(type.text) and can't be called")
  }

  private mutating func review(statement call: SyntaxNode) {
    guard call.kind == .call, let name = flow.variables.hostName(call.children[0]), Self.pure.contains(name)
    else { return }
    add(call, .oddExpression, "nothing gets what \(name) gives, and it changes nothing")
  }

  /// Finds functions that are not called, and operands of another type than the operator takes.
  private mutating func review(operand node: SyntaxNode, of operation: String) {
    let type = flow.type(of: node)
    let taken: [ValueType]
    switch operation {
    case "and", "or", "not", "==", "~=": return
    case "<", ">", "<=", ">=": taken = [.number, .string, .boolean, .table]
    case "..": taken = [.number, .string]
    case "#": taken = [.string, .table]
    default: taken = [.number]
    }
    if type == .function, node.kind != .function {
      add(node, .oddExpression, "\(text(node)) is a function; call it: \(text(node))(…)")
    } else if node.kind == .string, !taken.contains(.string) {
      // Lua takes a text that is a number.
      guard Double(node.text) == nil else { return }
      let message = operation == "+" ? "texts are joined with .., not with +" : "a text takes no '\(operation)'"
      add(node, .oddExpression, message)
    } else if type != .any, type != .table || flow.part(node) != nil, taken.allSatisfy(type.excludes) {
      // A table that a file makes may have a metatable.
      add(node, .oddExpression, "\(text(node)) is \(type.text), which takes no '\(operation)'")
    }
  }

  private mutating func review(operation node: SyntaxNode) {
    let left = node.children[0], right = node.children[1]
    for operand in node.children { review(operand: operand, of: node.text) }
    guard ["==", "~=", "<", ">", "<=", ">="].contains(node.text) else { return }
    let types = (flow.type(of: left), flow.type(of: right))
    if left.kind == .unary, left.text == "not", types.1 != .boolean {
      add(node, .oddExpression, "'not a \(node.text) b' compares 'not a'; write not (a \(node.text) b)")
    } else if types.0.excludes(types.1), ![types.0, types.1].contains(.function) {
      add(node, .oddExpression, "compares \(text(left)), \(types.0.text), with \(text(right)), \(types.1.text)")
    }
    for (value, word) in [(left, right), (right, left)] where text(value) == "event.origin" {
      guard word.kind == .string, !Self.origins.contains(word.text) else { continue }
      add(
        word, .oddExpression, "event.origin is never \"\(word.text)\"", unknown: word.text, Self.origins,
        otherwise: "it is \(Self.origins.joined(separator: ", "))")
    }
    for (call, number) in [(left, right), (right, left)] where call.kind == .call && number.kind == .number {
      guard let name = flow.variables.hostName(call.children[0]), let range = Self.ranges[name],
        let value = Double(number.text), !range.contains(value)
      else { continue }
      add(node, .oddExpression, "\(name) gives \(Int(range.lowerBound)) to \(Int(range.upperBound))")
    }
  }

  /// Finds `in list or {}`, a table in the place of an iterator.
  private mutating func review(values: [SyntaxNode]) {
    guard let value = values.first, values.count == 1 else { return }
    let last = value.kind == .binary && value.text == "or" ? value.children[1] : value
    guard last.kind == .table else { return }
    let list = text(value)
    add(value, .oddExpression, "a table is no iterator; write in ipairs(\(list)), or pairs(…)")
  }

  /// Finds `a == "b" or "c"`, and the length of a list, which are always true.
  private mutating func review(condition node: SyntaxNode) {
    switch node.kind {
    case .parenthesis: review(condition: node.children[0])
    case .unary where node.text == "#":
      add(node, .oddExpression, "a length is always true, also 0; write \(text(node)) > 0")
    case .binary where node.text == "or" && [.string, .number, .true].contains(node.children[1].kind):
      add(node, .oddExpression, "this is always true: 'or \(text(node.children[1]))' compares nothing")
    case .binary where ["and", "or"].contains(node.text):
      for operand in node.children { review(condition: operand) }
    default: break
    }
  }

  /// Finds `for i = 0, #list` where the loop reads `list[i]`.
  private mutating func review(loop node: SyntaxNode) {
    let variable = node.children[0].local, last = node.children[2]
    guard node.children[1].text == "0", last.kind == .unary, last.text == "#" else { return }
    let list = text(last.children[0])
    var reads = false
    node.children[node.children.count - 1].forEach { part in
      if part.kind == .index, part.children[1].local == variable, text(part.children[0]) == list { reads = true }
    }
    if reads { add(node, .oddExpression, "lists begin at 1: for \(node.children[0].text) = 1, #\(list)") }
  }

  private mutating func review(table node: SyntaxNode) {
    var names: Set<String> = []
    for field in node.children where field.kind == .namedField {
      guard let name = field.children[0].stringValue, !names.insert(name).inserted else { continue }
      add(field, .oddExpression, "the table has '\(name)' twice; the last one counts")
    }
  }
}
