internal import RuledLua

/// Finds in one file forbidden calls in queries, handlers and rules, and functions that should return a value and don't.
struct HandlerReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  private let values: FileValues
  /// The kind of the function at hand, its forbidden calls and the reason, and the local functions that were visited for it.
  private var handler = ""
  private var refused: (names: Set<String>, why: String) = ([], "")
  private var visited: Set<Int> = []

  private static let changing: Set<String> = [
    "decide", "emit", "raise", "send", "once", "count", "forget", "publish", "timer.set", "timer.every", "timer.cancel",
    "topic.join", "topic.leave", "board.set", "board.add", "board.leave",
  ]
  private static let reading = Set(RuleLibrary.functions.filter(\.isForQueriesOnly).map(\.name))
  private static let kinds = ["query": "a query", "web": "a web handler", "sink": "a sink handler"]

  init(_ file: SourceFile, _ tree: SyntaxTree) {
    self.file = file
    values = FileValues(tree)
    tree.root.forEach { node in
      if node.kind == .call, node.children[0].globalName == "migrate" { reviewSteps(node) }
      if let (kind, run, _) = Declaration.handler(node), let what = Self.kinds[kind] {
        if kind == "query" { review(order: body(run), ["state", "args"]) }
        review(run, what, cannot: (Self.changing, "which changes something"))
        if let function = body(run), !function.returnsValue {
          addMissingReturn(function, "\(what) answers with what it returns")
        }
      } else if let rule = Declaration.rule(node) {
        for run in [rule["run"], rule["when"]] {
          review(run, "a rule", cannot: (Self.reading, "which only queries can"))
          review(order: body(run), ["event", "state"])
        }
        if let when = rule["when"], when.local != nil, let function = body(when), !function.returnsValue {
          addMissingReturn(function, "it is the 'when' of a rule, which then never runs")
        }
      }
    }
  }

  private func body(_ node: SyntaxNode?) -> SyntaxNode? { values.value(node, .function) }

  private mutating func review(order function: SyntaxNode?, _ names: [String]) {
    guard let list = function?.children[0], list.children.prefix(2).map(\.text) == names.reversed() else { return }
    add(list, .wrongArguments, "gets \(names.joined(separator: ", ")), in this order")
  }

  /// Finds steps to another version of the state that return none.
  private mutating func reviewSteps(_ call: SyntaxNode) {
    call.forEach { node in
      guard node.kind == .namedField, ["up", "down"].contains(node.children[0].stringValue),
        let function = body(node.children[1]), !function.returnsValue
      else { return }
      addMissingReturn(function, "a step returns the state")
    }
  }

  private mutating func addMissingReturn(_ function: SyntaxNode, _ why: String) {
    guard !function.children[1].children.isEmpty else { return }
    add(function, .missingReturn, "returns nothing: \(why)")
  }

  private mutating func review(_ function: SyntaxNode?, _ handler: String, cannot refused: (Set<String>, String)) {
    guard let function else { return }
    (self.handler, self.refused, visited) = (handler, refused, [])
    if let local = function.local { visit(local: local) } else { visit(function) }
  }

  private mutating func visit(_ node: SyntaxNode) {
    if node.kind == .call {
      if let local = node.children[0].local { visit(local: local) }
      if let name = values.hostName(node.children[0]), refused.names.contains(name) {
        add(node, .forbiddenCall, "\(handler) can't call '\(name)', \(refused.why)")
      }
    }
    for child in node.children { visit(child) }
  }

  /// Visits the function that a variable holds.
  private mutating func visit(local: Int) {
    if let body = values[local], body.kind == .function, visited.insert(local).inserted { visit(body) }
  }
}

extension SyntaxNode {
  /// Whether a function returns a value in any place, functions in it left out; one that ends with an error counts.
  var returnsValue: Bool { children.contains(where: \.hasReturn) }

  private var hasReturn: Bool {
    switch kind {
    case .returnStatement: children.contains { $0.kind != .list || !$0.children.isEmpty }
    case .call where children[0].globalName == "error": true
    case .function: false
    default: children.contains(where: \.hasReturn)
    }
  }
}
