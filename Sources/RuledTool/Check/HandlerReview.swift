internal import RuledLua

/// Finds calls in one file that change something, in queries and handlers, which can't.
struct HandlerReview {
  private(set) var findings: [Finding] = []

  private let file: SourceFile
  private let functions: FileFunctions
  /// What the function at hand is, and the local functions that were visited for it.
  private var handler = ""
  private var visited: Set<Int> = []

  private static let changing: Set<String> = [
    "decide", "emit", "raise", "send", "once", "count", "forget", "publish", "timer.set", "timer.every", "timer.cancel",
    "topic.join", "topic.leave", "board.set", "board.add", "board.leave",
  ]
  private static let kinds = ["query": "a query", "web": "a web handler", "sink": "a sink handler"]

  init(_ file: SourceFile, _ tree: SyntaxTree) {
    self.file = file
    functions = FileFunctions(tree)
    var handlers: [(kind: String, node: SyntaxNode)] = []
    tree.root.forEach { node in
      guard node.kind == .call, node.children[0].kind == .call,
        let kind = node.children[0].children[0].globalName.flatMap({ Self.kinds[$0] }),
        let given = node.children[1].children.first
      else { return }
      let run = given.children.first { $0.kind == .namedField && $0.children[0].stringValue == "run" }
      handlers.append((kind, given.kind == .table ? run?.children[1] ?? given : given))
    }
    for handler in handlers {
      self.handler = handler.kind
      visited = []
      if let local = handler.node.local { visit(local: local) } else { visit(handler.node) }
    }
  }

  private mutating func visit(_ node: SyntaxNode) {
    if node.kind == .call {
      if let local = node.children[0].local { visit(local: local) }
      if let name = CallReview.hostName(node.children[0]), Self.changing.contains(name) {
        let finding = Finding(
          file: file.path, line: node.line, message: "\(handler) can't call '\(name)', which changes something",
          code: .forbiddenCall)
        if !findings.contains(finding) { findings.append(finding) }
      }
    }
    for child in node.children { visit(child) }
  }

  /// Visits the function that a variable holds.
  private mutating func visit(local: Int) {
    if let body = functions.bodies[local], visited.insert(local).inserted { visit(body) }
  }
}
