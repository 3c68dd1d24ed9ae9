/// The values that the local variables of a file hold always.
package struct FileValues {
  private var values: [Int: SyntaxNode] = [:]
  /// The variables that are assigned after their declaration.
  package private(set) var assigned: Set<Int> = []

  package init(_ tree: SyntaxTree) {
    tree.root.forEach { node in
      switch node.kind {
      case .assignment: assigned.formUnion(node.children[0].children.compactMap(\.local))
      case .functionStatement: if let local = node.children[0].local { assigned.insert(local) }
      case .localFunction: if let local = node.children[0].local { values[local] = node.children[1] }
      case .local: for (local, value) in node.declared { values[local] = value }
      default: break
      }
    }
    for local in assigned { values[local] = nil }
  }

  package subscript(_ local: Int) -> SyntaxNode? { values[local] }

  /// What an expression is, also by way of a variable that holds it; nil if it is of another kind.
  package func value(_ node: SyntaxNode?, _ kind: SyntaxNode.Kind) -> SyntaxNode? {
    let value = node?.local.flatMap { values[$0] } ?? node
    return value?.kind == kind ? value : nil
  }

  /// The name of the module that an expression is: `require "name"`, or a variable with it.
  package func module(of node: SyntaxNode) -> String? {
    guard let call = value(node, .call), call.children[0].globalName == "require" else { return nil }
    return call.arguments.first?.stringValue
  }
}

extension SyntaxNode {
  package var arguments: [SyntaxNode] { children[1].children }

  /// The local variables that a `local` statement gives a value.
  package var declared: [(local: Int, value: SyntaxNode)] {
    zip(children[0].children, children[1].children).compactMap { variable, value in variable.local.map { ($0, value) } }
  }
}
