internal import RuledLua

/// Finds local variables and functions of one file that nothing reads; names that begin with `_` are meant so.
enum LocalReview {
  static func findings(_ file: SourceFile, _ tree: SyntaxTree) -> [Finding] {
    var declared: [SyntaxNode] = []
    var read: Set<Int> = []
    visit(tree.root, &declared, &read)
    return declared.compactMap { node in
      guard let local = node.local, !read.contains(local), !node.text.hasPrefix("_") else { return nil }
      return Finding(file, node, .unusedLocal, "nothing reads the local '\(node.text)'", isNote: true)
    }
  }

  private static func visit(_ node: SyntaxNode, _ declared: inout [SyntaxNode], _ read: inout Set<Int>) {
    var parts = node.children[...]
    switch node.kind {
    case .local:
      declared += node.children[0].children
      parts = parts.dropFirst()
    case .localFunction:
      declared.append(node.children[0])
      parts = parts.dropFirst()
    case .assignment, .functionStatement:
      // An assignment is no read.
      let targets = node.kind == .assignment ? node.children[0].children : [node.children[0]]
      for target in targets where target.local == nil { visit(target, &declared, &read) }
      parts = parts.dropFirst()
    case .function: parts = parts.dropFirst()
    case .name: if let local = node.local { read.insert(local) }
    default: break
    }
    for part in parts { visit(part, &declared, &read) }
  }
}
