internal import RuledLua

/// The functions of a file that its variables hold always, and the modules.
struct FileFunctions {
  private(set) var bodies: [Int: SyntaxNode] = [:]
  /// The names of the modules, by the variable.
  private(set) var modules: [Int: String] = [:]

  init(_ tree: SyntaxTree) {
    tree.root.forEach { node in
      switch node.kind {
      case .localFunction:
        if let local = node.children[0].local { bodies[local] = node.children[1] }
      case .local:
        for (local, value) in node.locals(besides: []) {
          if value.kind == .function { bodies[local] = value }
          modules[local] = Self.module(value)
        }
      default: break
      }
    }
    for local in Self.assigned(in: tree) {
      bodies[local] = nil
      modules[local] = nil
    }
  }

  /// The variables of a file that are assigned after their declaration.
  static func assigned(in tree: SyntaxTree) -> Set<Int> {
    var assigned: Set<Int> = []
    tree.root.forEach { node in
      switch node.kind {
      case .assignment: assigned.formUnion(node.children[0].children.compactMap(\.local))
      case .functionStatement: if let local = node.children[0].local { assigned.insert(local) }
      default: break
      }
    }
    return assigned
  }

  /// The name of the module that an expression is: `require "name"`, or a variable with it.
  func module(of node: SyntaxNode) -> String? { node.local.flatMap { modules[$0] } ?? Self.module(node) }

  private static func module(_ node: SyntaxNode) -> String? {
    guard node.kind == .call, node.children[0].globalName == "require" else { return nil }
    return node.children[1].children.first?.stringValue
  }
}
