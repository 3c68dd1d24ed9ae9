internal import RuledCore
internal import RuledLua

/// Finds members of plugins' states that a file reads or writes and that the plugins do not declare, and values of other types than declared.
///
/// The state is the second parameter of rules' functions, the first of queries', and any parameter called `state`. Local
/// functions that get it, and variables that get a part of it once, and nothing else, are followed.
struct StateReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  /// The plugin's state; nil if it does not declare it.
  private let root: DataType?
  private let states: [String: DataType]
  /// The types of variables that hold the state or a part of it.
  private var held: [Int: DataType] = [:]
  private let flow: EventFlow
  private let values: ValueFlow
  /// The variables that are assigned after their declaration.
  private var assigned: Set<Int> = []

  /// Reads a file of a plugin.
  init(
    _ file: SourceFile, _ tree: SyntaxTree, of plugin: String, _ manifests: [PluginManifest], _ flow: EventFlow,
    _ values: ValueFlow
  ) {
    self.file = file
    self.flow = flow
    self.values = values
    states = manifests.reduce(into: [:]) { states, manifest in
      if let shape = manifest.state { states[manifest.name] = .members(shape.members) }
    }
    root = states[plugin]
    assigned = FileFunctions.assigned(in: tree)
    visit(tree.root)
  }

  private mutating func visit(_ node: SyntaxNode) {
    switch node.kind {
    case .call:
      // Steps have states of other versions.
      if node.children[0].globalName == "migrate" { return }
      review(call: node)
      if let rule = Declaration.rule(node) {
        for function in [rule["run"], rule["when"]] { holdState(function, parameter: 1) }
        if let run = rule["run"], rule["when"].map(Self.usesState) != true { findFirstUse(in: run, parameter: 1) }
      } else if let (kind, handler, _) = Declaration.handler(node), kind == "query" {
        holdState(handler, parameter: 0)
        findFirstUse(in: handler, parameter: 0)
      }
    case .function:
      for parameter in node.children[0].children where parameter.text == "state" { hold(root, parameter) }
    case .binary where ["==", "~=", "<", ">", "<=", ">="].contains(node.text):
      review(comparison: node.children[0], with: node.children[1])
      review(comparison: node.children[1], with: node.children[0])
    case .unary where node.text == "#": review(list: node.children[0])
    case .local:
      for (local, value) in node.locals(besides: assigned) { held[local] = type(of: value) }
    case .genericFor: findElements(in: node)
    case .assignment:
      for (target, value) in zip(node.children[0].children, node.children[1].children) {
        if let type = type(of: target) { review(value, as: type, of: target) }
      }
    case .index:
      review(index: node)
    default: break
    }
    for child in node.children { visit(child) }
  }

  private mutating func hold(_ type: DataType?, _ variable: SyntaxNode) {
    if let local = variable.local { held[local] = type }
  }

  // MARK: Variables

  /// Notes that a parameter of a rule's or a query's function holds the state.
  private mutating func holdState(_ function: SyntaxNode?, parameter: Int) {
    guard let function, function.kind == .function, function.children[0].children.count > parameter else { return }
    hold(root, function.children[0].children[parameter])
  }

  /// Notes the variable of `for _, x in ipairs(state.list)`.
  private mutating func findElements(in loop: SyntaxNode) {
    let variables = loop.children[0].children
    guard let call = loop.children[1].children.first, call.kind == .call, call.children[0].globalName == "ipairs",
      let list = call.children[1].children.first, case .array(let element?)? = type(of: list), variables.count > 1
    else { return }
    hold(element, variables[1])
  }

  /// The type of an expression within the state; nil if it is not of the state, or not known.
  private func type(of node: SyntaxNode) -> DataType? {
    switch node.kind {
    case .name: return node.local.flatMap { held[$0] ?? (flow.holdsState($0) ? root : nil) }
    case .parenthesis: return type(of: node.children[0])
    case .call where node.children[0].globalName == "peek":
      return node.children[1].children.first?.stringValue.flatMap { states[$0] }
    case .binary where node.text == "or": return type(of: node.children[0])
    case .index:
      switch type(of: node.children[0]) {
      case .members(let schema): return schema.members.first { $0.name == node.children[1].stringValue }?.type
      case .array(let element) where node.children[1].stringValue == nil: return element
      default: return nil
      }
    default: return nil
    }
  }

  // MARK: An empty state

  /// Whether a condition gets the state.
  private static func usesState(_ function: SyntaxNode) -> Bool {
    function.kind != .function || function.children[0].children.count > 1
  }

  /// Notes a member that a function uses as if it were there, if that is its first use of the state.
  private mutating func findFirstUse(in function: SyntaxNode, parameter: Int) {
    guard root != nil, function.kind == .function, function.children[0].children.count > parameter else { return }
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
        uses += Self.needed(by: node).filter(isOfEmpty)
      }
      if let use = uses.first, !isTested {
        let message = "\(text(use)) is nil until something sets it; write (\(text(use)) or …)"
        add(use, .emptyState, message, isNote: true)
      }
      guard !isMentioned, ![.ifStatement, .returnStatement, .genericFor].contains(statement.kind) else { return }
    }
  }

  /// What a statement such as `local w = state.w or {}` makes a table without members, if it does nothing else.
  private static func tables(madeBy statement: SyntaxNode, from isEmpty: (SyntaxNode) -> Bool) -> [SyntaxNode]? {
    guard statement.kind == .local || statement.kind == .assignment else { return nil }
    let (targets, values) = (statement.children[0].children, statement.children[1].children)
    let areMade = values.allSatisfy { value in
      value.kind == .binary && value.text == "or" && isEmpty(value.children[0]) && value.children[1].isEmptyTable
    }
    return areMade && targets.count == values.count ? targets : nil
  }

  /// The operands that can't be nil.
  private static func needed(by node: SyntaxNode) -> [SyntaxNode] {
    switch node.kind {
    case .binary: node.children
    case .unary: node.children
    case .index: [node.children[0]]
    case .call:
      CallReview.hostName(node.children[0]).map { name in
        name == "ipairs" || name == "pairs" || name.hasPrefix("table.")
          ? Array(node.children[1].children.prefix(1)) : []
      } ?? []
    default: []
    }
  }

  // MARK: Members

  private mutating func review(index node: SyntaxNode) {
    let key = node.children[1]
    switch type(of: node.children[0]) {
    case .members(let schema)?:
      if let member = key.stringValue { review(member, key, in: schema) }
    case .array?:
      if let member = key.stringValue {
        add(
          key, .unknownMember,
          "\(text(node.children[0])) is an array and has no member '\(member)'; #list tells its length")
      } else if text(key) == "0" {
        add(key, .unknownMember, "\(text(node.children[0])) begins at 1")
      }
    default: break
    }
  }

  /// Finds members of a new table that its target in the state does not have, and literals of another type.
  private mutating func review(_ value: SyntaxNode, as type: DataType, of target: SyntaxNode) {
    switch (value.kind, type) {
    case (.binary, _) where value.text == "or": review(value.children[1], as: type, of: target)
    case (.table, .members(let schema)):
      for field in value.children where field.kind == .namedField {
        guard let member = field.children[0].stringValue else { continue }
        review(member, field.children[0], in: schema)
        if let type = schema.members.first(where: { $0.name == member })?.type {
          review(field.children[1], as: type, of: field.children[0])
        }
      }
    case (.table, .array(let element?)):
      for field in value.children where field.kind == .positionalField {
        review(field.children[0], as: element, of: target)
      }
    default:
      let given = values.type(of: value)
      guard ValueType(type).excludes(given) || type.isInteger && value.isFraction else { return }
      let what = ValueType(literal: value) == .any ? ", which is \(given.text)" : ""
      add(value, .wrongArguments, "\(text(target)) is declared as \(type.text), and gets \(text(value))\(what)")
    }
  }

  private mutating func review(comparison node: SyntaxNode, with value: SyntaxNode) {
    guard let type = type(of: node), ValueType(type).excludes(ValueType(literal: value)) else { return }
    add(value, .oddExpression, "\(text(node)) is declared as \(type.text), and is compared with \(text(value))")
  }

  /// Finds elements that don't fit their list, and objects in the place of lists.
  private mutating func review(call node: SyntaxNode) {
    guard let name = CallReview.hostName(node.children[0]), ["ipairs", "table.insert", "table.remove"].contains(name),
      let list = node.children[1].children.first
    else { return }
    review(list: list)
    guard name == "table.insert", case .array(let element?)? = type(of: list) else { return }
    if let value = node.children[1].children.dropFirst().last { review(value, as: element, of: list) }
  }

  private mutating func review(list node: SyntaxNode) {
    switch type(of: node) {
    case .members?, .object?: add(node, .oddExpression, "\(text(node)) is no array: pairs visits its members")
    default: break
    }
  }

  private mutating func review(_ member: String, _ key: SyntaxNode, in schema: DataSchema) {
    guard !schema.members.contains(where: { $0.name == member }) else { return }
    add(
      key, .unknownMember, "the plugin's state declares no member '\(member)'", unknown: member, schema.names,
      otherwise: "add it to state { … }")
  }
}

extension DataType {
  fileprivate var isInteger: Bool { if case .integer = self { true } else { false } }
}

extension SyntaxNode {
  /// Whether it is a number that is no whole one.
  fileprivate var isFraction: Bool { kind == .number && Double(text).map { $0 != $0.rounded() } == true }
}
