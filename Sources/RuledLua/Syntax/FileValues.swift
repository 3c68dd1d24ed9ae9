/// The values that the local variables of a file hold always.
package struct FileValues {
  private var values: [Int: SyntaxNode] = [:]
  /// The variables that are assigned after their declaration.
  package private(set) var assigned: Set<Int> = []
  /// The variables whose tables may get other members: a member is assigned, or the table is used as a whole.
  private var shared: Set<Int> = []

  package init(_ tree: SyntaxTree) {
    /// How often each variable is named other than to read a member of it, its declaration included.
    var uses: [Int: Int] = [:]
    tree.root.forEach { node in
      switch node.kind {
      case .name: if let local = node.local { uses[local, default: 0] += 1 }
      case .index: if let local = node.children[0].local { uses[local, default: 0] -= 1 }
      case .assignment:
        assigned.formUnion(node.children[0].children.compactMap(\.local))
        shared.formUnion(node.children[0].children.compactMap(\.changed))
      case .functionStatement: if let local = node.children[0].local { assigned.insert(local) }
      case .localFunction: if let local = node.children[0].local { values[local] = node.children[1] }
      case .local: for (local, value) in node.declared { values[local] = value }
      default: break
      }
    }
    for local in assigned { values[local] = nil }
    for (local, count) in uses where count > 1 { shared.insert(local) }
  }

  package subscript(_ local: Int) -> SyntaxNode? { values[local] }

  /// What an expression is, also by way of a variable that holds it; nil if it is of another kind.
  package func value(_ node: SyntaxNode?, _ kind: SyntaxNode.Kind) -> SyntaxNode? {
    let value = node.map(held)
    return value?.kind == kind ? value : nil
  }

  /// The value of a member such as `a.b`, where `a` is a variable whose table always has it; nil for other expressions.
  package func member(_ node: SyntaxNode) -> SyntaxNode? {
    guard node.kind == .index, let local = node.children[0].local, !shared.contains(local),
      let table = value(node.children[0], .table), let name = node.children[1].stringValue
    else { return nil }
    return table.children.last { $0.kind == .namedField && $0.children[0].stringValue == name }?.children[1]
  }

  /// The table that an expression is, also by way of a variable that holds it, or of a member.
  package func table(_ node: SyntaxNode) -> SyntaxNode? {
    let node = held(node)
    return value(member(node) ?? node, .table)
  }

  /// The value of a variable, or another expression itself.
  private func held(_ node: SyntaxNode) -> SyntaxNode { node.local.flatMap { values[$0] } ?? node }

  /// The name of a function of the host, such as `decide` or `timer.set`, also by way of a variable that holds it or its table.
  package func hostName(_ function: SyntaxNode) -> String? {
    let function = held(function)
    if let name = function.globalName { return name }
    guard function.kind == .index, let table = held(function.children[0]).globalName else { return nil }
    return function.children[1].stringValue.map { "\(table).\($0)" }
  }

  /// The name of the module that an expression is: `require "name"`, or a variable with it.
  package func module(of node: SyntaxNode) -> String? {
    guard let call = value(node, .call), call.children[0].globalName == "require" else { return nil }
    return call.arguments.first?.stringValue
  }
}

extension SyntaxNode {
  /// The variable in whose table the target of an assignment is a member.
  fileprivate var changed: Int? { kind == .index ? children[0].local ?? children[0].changed : nil }

  package var arguments: [SyntaxNode] { children[1].children }

  /// The local variables that a `local` statement gives a value.
  package var declared: [(local: Int, value: SyntaxNode)] {
    zip(children[0].children, children[1].children).compactMap { variable, value in variable.local.map { ($0, value) } }
  }
}
