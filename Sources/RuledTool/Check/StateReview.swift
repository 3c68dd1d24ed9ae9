internal import RuledCore
internal import RuledLua

/// Finds members of a plugin's state that a file reads or writes, and that the plugin does not declare.
///
/// The state is the second parameter of rules' functions, the first of queries', and any parameter called `state`. Variables that get a part of
/// it once, and nothing else, are followed.
struct StateReview {
  private(set) var findings: [Finding] = []

  private let file: String
  private let root: DataType
  /// What the variables hold that hold the state or a part of it.
  private var held: [Int: DataType] = [:]
  /// The variables that are assigned after their declaration.
  private var assigned: Set<Int> = []

  /// Reads a file of a plugin; nil if it is no Lua.
  init?(_ file: SourceFile, _ shape: StateShape) {
    guard let tree = try? SyntaxTree(parsing: file.text) else { return nil }
    self.file = file.path
    root = .members(shape.members)
    tree.root.forEach { node in
      if node.kind == .assignment { assigned.formUnion(node.children[0].children.compactMap(\.local)) }
    }
    visit(tree.root)
  }

  private mutating func visit(_ node: SyntaxNode) {
    switch node.kind {
    case .call:
      // Steps have states of other versions.
      if node.children[0].globalName == "migrate" { return }
      findState(in: node)
    case .function:
      for parameter in node.children[0].children where parameter.text == "state" { hold(root, parameter) }
    case .local:
      for (variable, value) in zip(node.children[0].children, node.children[1].children) {
        if let local = variable.local, !assigned.contains(local) { held[local] = type(of: value) }
      }
    case .genericFor: findElements(in: node)
    case .assignment:
      for (target, value) in zip(node.children[0].children, node.children[1].children) {
        if let type = type(of: target) { review(value, as: type) }
      }
    case .index:
      if case .members(let schema)? = type(of: node.children[0]), let member = node.children[1].stringValue {
        review(member, node.children[1], in: schema)
      }
    default: break
    }
    for child in node.children { visit(child) }
  }

  private mutating func hold(_ type: DataType, _ variable: SyntaxNode) {
    if let local = variable.local { held[local] = type }
  }

  // MARK: Variables

  /// Notes the parameters that hold the state in the declaration of a rule or a query.
  private mutating func findState(in call: SyntaxNode) {
    let function = call.children[0]
    guard function.kind == .call, let declaration = function.children[0].globalName,
      let index = ["rule": 1, "query": 0][declaration], let body = call.children[1].children.first
    else { return }
    var functions = [body]
    if body.kind == .table {
      functions = body.children.filter {
        $0.kind == .namedField && ["run", "when"].contains($0.children[0].stringValue)
      }.map { $0.children[1] }
    }
    for function in functions where function.kind == .function && function.children[0].children.count > index {
      hold(root, function.children[0].children[index])
    }
  }

  /// Notes the variable of `for _, x in ipairs(state.list)`.
  private mutating func findElements(in loop: SyntaxNode) {
    let variables = loop.children[0].children
    guard let call = loop.children[1].children.first, call.kind == .call, call.children[0].globalName == "ipairs",
      let list = call.children[1].children.first, case .array(let element?)? = type(of: list), variables.count > 1
    else { return }
    hold(element, variables[1])
  }

  /// What an expression is of the state; nil if it is nothing of it, or if that can't be told.
  private func type(of node: SyntaxNode) -> DataType? {
    switch node.kind {
    case .name: return node.local.flatMap { held[$0] }
    case .parenthesis: return type(of: node.children[0])
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

  // MARK: Members

  /// Finds members of a new table that its target in the state does not have.
  private mutating func review(_ value: SyntaxNode, as type: DataType) {
    switch (value.kind, type) {
    case (.binary, _) where value.text == "or": review(value.children[1], as: type)
    case (.table, .members(let schema)):
      for field in value.children where field.kind == .namedField {
        guard let member = field.children[0].stringValue else { continue }
        review(member, field.children[0], in: schema)
        if let type = schema.members.first(where: { $0.name == member })?.type { review(field.children[1], as: type) }
      }
    case (.table, .array(let element?)):
      for field in value.children where field.kind == .positionalField { review(field.children[0], as: element) }
    default: break
    }
  }

  private mutating func review(_ member: String, _ key: SyntaxNode, in schema: DataSchema) {
    guard !schema.names.contains(member) else { return }
    let near = NearestName.find(member, in: schema.names)
    let message =
      "the plugin's state declares no member '\(member)'"
      + NearestName.hint(member, in: schema.names, otherwise: "add it to state { … }")
    findings.append(
      Finding(
        file: file, line: key.line, message: message, code: .unknownMember,
        fix: near.flatMap { isOneEdit(member, $0) ? Finding.Fix(range: key.unquotedRange, text: $0) : nil }))
  }
}
