internal import RuledLua

/// Finds the uses of members that a new subject's state does not have.
extension ValueReview {
  mutating func reviewFirstUse(_ node: SyntaxNode) {
    if let rule = Declaration.rule(node) {
      if let run = rule["run"], rule["when"].map(Self.usesState) != true { findFirstUse(in: run, parameter: 1) }
    } else if let (kind, handler, _) = Declaration.handler(node), kind == "query" {
      findFirstUse(in: handler, parameter: 0)
    }
  }

  private static func usesState(_ function: SyntaxNode) -> Bool {
    function.kind != .function || function.children[0].children.count > 1
  }

  /// Notes a member that a function uses as if it were there, if that is its first use of the state.
  private mutating func findFirstUse(in function: SyntaxNode, parameter: Int) {
    guard function.kind == .function, function.children[0].children.count > parameter,
      flow.dataType(of: function.children[0].children[parameter]) != nil
    else { return }
    // The expressions without members for a new subject, as they are written.
    var empty = [text(function.children[0].children[parameter])]
    func isOfEmpty(_ node: SyntaxNode) -> Bool {
      node.kind == .index && empty.contains(text(node.children[0])) && !empty.contains(text(node))
    }
    for statement in function.children[1].children {
      if let made = Self.tables(madeBy: statement, from: isOfEmpty) {
        empty += made.map { text($0) }
        continue
      }
      let part: SyntaxNode
      switch statement.kind {
      case .local, .assignment, .callStatement, .returnStatement: part = statement
      case .ifStatement: part = statement.children[0]
      case .genericFor: part = statement.children[1]
      default: return
      }
      var isTested = false, isMentioned = false, uses: [SyntaxNode] = []
      part.forEach { node in
        if node.kind == .name, empty.contains(node.text) { isMentioned = true }
        if node.kind == .function || ["and", "or", "==", "~=", "not"].contains(node.text) { isTested = true }
        uses += needed(by: node).filter(isOfEmpty)
      }
      if let use = uses.first, !isTested {
        let message = "\(text(use)) is nil until something sets it; write (\(text(use)) or …)"
        add(use, .emptyState, message, isNote: true)
      }
      guard !isMentioned, ![.ifStatement, .returnStatement, .genericFor].contains(statement.kind) else { return }
    }
  }

  /// The variables to which a statement such as `local w = state.w or {}` gives a table without members, if it does nothing else.
  private static func tables(madeBy statement: SyntaxNode, from isEmpty: (SyntaxNode) -> Bool) -> [SyntaxNode]? {
    guard statement.kind == .local || statement.kind == .assignment else { return nil }
    let (targets, values) = (statement.children[0].children, statement.children[1].children)
    let areMade = values.allSatisfy { value in
      value.kind == .binary && value.text == "or" && isEmpty(value.children[0]) && value.children[1].isEmptyTable
    }
    return areMade && targets.count == values.count ? targets : nil
  }

  /// The operands that can't be nil.
  private func needed(by node: SyntaxNode) -> [SyntaxNode] {
    switch node.kind {
    case .binary: node.children
    case .unary: node.children
    case .index: [node.children[0]]
    case .call:
      flow.variables.hostName(node.children[0]).map { name in
        name == "ipairs" || name == "pairs" || name.hasPrefix("table.")
          ? Array(node.children[1].children.prefix(1)) : []
      } ?? []
    default: []
    }
  }
}
