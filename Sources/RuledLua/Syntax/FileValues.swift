/// The values that the local variables of a file hold always.
package struct FileValues {
  private var values: [Int: SyntaxNode] = [:]
  /// The variables that are assigned after their declaration.
  package private(set) var assigned: Set<Int> = []
  /// The variables whose tables may get other members: a member is assigned, or the table is used as a whole.
  private var shared: Set<Int> = []
  /// The values that the file assigns to members of variables' tables, by the member's name; nil where it assigns several.
  private var members: [Int: [String: SyntaxNode?]] = [:]
  /// The file's result, if that is one value.
  private let result: SyntaxNode?

  package init(_ tree: SyntaxTree) {
    /// How often each variable is named other than to read a member of it, its declaration included.
    var uses: [Int: Int] = [:]
    let last = tree.root.children.last
    result = last?.kind == .returnStatement ? last?.children[0].children.first : nil
    tree.root.forEach { node in
      switch node.kind {
      case .name: if let local = node.local { uses[local, default: 0] += 1 }
      case .index: if let local = node.children[0].local { uses[local, default: 0] -= 1 }
      case .assignment:
        assigned.formUnion(node.children[0].children.compactMap(\.local))
        shared.formUnion(node.children[0].children.compactMap(\.changed))
        for (target, value) in zip(node.children[0].children, node.children[1].children) { note(value, as: target) }
      case .functionStatement:
        if let local = node.children[0].local { assigned.insert(local) }
        note(node.children[1], as: node.children[0])
      case .localFunction: if let local = node.children[0].local { values[local] = node.children[1] }
      case .local: for (local, value) in node.declared { values[local] = value }
      default: break
      }
    }
    for local in assigned { values[local] = nil }
    for (local, count) in uses where count > 1 { shared.insert(local) }
  }

  private mutating func note(_ value: SyntaxNode, as target: SyntaxNode) {
    guard let local = target.children.first?.local, let member = target.children.last?.stringValue else { return }
    members[local, default: [:]].updateValue(members[local]?[member] == nil ? value : nil, forKey: member)
  }

  package subscript(_ local: Int) -> SyntaxNode? { values[local] }

  /// The value of an expression, also by way of a variable that holds it; nil if it is of another kind.
  package func value(_ node: SyntaxNode?, _ kind: SyntaxNode.Kind) -> SyntaxNode? {
    let value = node.map(held)
    return value?.kind == kind ? value : nil
  }

  /// The value of a member such as `a.b`, where `a` is a variable whose table always has it; nil for other expressions.
  package func member(_ node: SyntaxNode) -> SyntaxNode? {
    guard node.kind == .index, let local = node.children[0].local, !shared.contains(local),
      let table = value(node.children[0], .table), let name = node.children[1].stringValue
    else { return nil }
    return Self.field(name, of: table)
  }

  private static func field(_ name: String, of table: SyntaxNode) -> SyntaxNode? {
    table.children.last { $0.kind == .namedField && $0.children[0].stringValue == name }?.children[1]
  }

  /// The table that an expression is, also by way of a variable that holds it, or of a member.
  package func table(_ node: SyntaxNode) -> SyntaxNode? {
    let node = literal(node)
    return node.kind == .table ? node : nil
  }

  private func literal(_ node: SyntaxNode) -> SyntaxNode {
    let node = held(node)
    return held(member(node) ?? node)
  }

  /// The text that an expression is, in the same ways, or joined of such texts.
  package func text(_ node: SyntaxNode) -> String? {
    var parts = 0
    return text(node, &parts)
  }

  /// The most expressions that are read for one text.
  private static let mostParts = 100

  private func text(_ node: SyntaxNode, _ parts: inout Int) -> String? {
    parts += 1
    guard parts <= Self.mostParts else { return nil }
    let node = literal(node)
    switch node.kind {
    case .string: return node.text
    case .parenthesis: return text(node.children[0], &parts)
    case .binary where node.text == "..":
      return text(node.children[0], &parts).flatMap { left in text(node.children[1], &parts).map { left + $0 } }
    default: return nil
    }
  }

  /// The function that an expression is, also by way of a variable, or as a member that the file gives a table in one place.
  package func function(_ node: SyntaxNode) -> SyntaxNode? {
    member(of: node).map { function($0.name, of: $0.table) } ?? value(node, .function)
  }

  /// The table and the name of a member that an expression is, also by way of a variable.
  package func member(of node: SyntaxNode) -> (table: SyntaxNode, name: String)? {
    let node = held(node)
    return node.kind == .index ? node.children[1].stringValue.map { (node.children[0], $0) } : nil
  }

  package func function(_ name: String, of table: SyntaxNode) -> SyntaxNode? {
    let field = value(table, .table).flatMap { Self.field(name, of: $0) }
    guard let assigned = table.local.flatMap({ members[$0]?[name] }) else { return value(field, .function) }
    return field == nil ? value(assigned, .function) : nil
  }

  /// The function that is a member of the table that the file returns.
  package func result(_ name: String) -> SyntaxNode? { result.flatMap { function(name, of: $0) } }

  /// The value of a variable, or another expression itself.
  private func held(_ node: SyntaxNode) -> SyntaxNode { node.local.flatMap { values[$0] } ?? node }

  /// The name of a function of the host, such as `decide` or `timer.set`, also by way of a variable that holds it or its table.
  package func hostName(_ function: SyntaxNode) -> String? {
    guard let (table, name) = member(of: function) else { return held(function).globalName }
    return held(table).globalName.map { "\($0).\(name)" }
  }

  /// The functions that a call calls, each with its arguments: its own one, and those that `pcall` or `xpcall` calls for it.
  ///
  /// For a call with a colon it is the call itself; for other nodes there are none.
  package func calls(_ node: SyntaxNode) -> [(function: SyntaxNode, arguments: [SyntaxNode])] {
    guard node.kind == .call || node.kind == .methodCall else { return [] }
    let arguments = node.arguments, own = (node.kind == .call ? node.children[0] : node, arguments)
    switch node.kind == .call ? hostName(node.children[0]) : nil {
    case "pcall": return [own] + arguments.prefix(1).map { ($0, Array(arguments.dropFirst())) }
    case "xpcall":
      return [own] + arguments.prefix(1).map { ($0, Array(arguments.dropFirst(2))) }
        + arguments.dropFirst().prefix(1).map { ($0, []) }
    default: return [own]
    }
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
