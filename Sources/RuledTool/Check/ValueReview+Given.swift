internal import RuledLua

/// Finds values that are put into states and given to events, and are not as plugins declare them, and objects in the place of lists.
extension ValueReview {
  mutating func reviewGiven(_ node: SyntaxNode) {
    switch node.kind {
    case .unary where node.text == "#": review(list: node.children[0])
    case .assignment:
      for (target, value) in zip(node.children[0].children, node.children[1].children) {
        if let part = flow.part(target), case .state = part.root { review(value, as: part, text(target)) }
      }
    case .call:
      if let event = MadeEvent(node, flow.variables) { review(event) }
      review(call: node)
    default: break
    }
  }

  /// Finds members that a value does not declare, and values of another type; `target` is the text of the place in a state.
  private mutating func review(_ value: SyntaxNode, as part: Declarations.Part, _ target: String = "") {
    guard let type = flow.declarations.dataType(of: part) else { return }
    switch (value.kind, type) {
    case (.binary, _) where value.text == "or": review(value.children[1], as: part, target)
    case (.table, .members):
      for field in value.children where field.kind == .namedField {
        let key = field.children[0]
        guard let member = key.stringValue else { continue }
        if let problem = flow.declarations.problem(ofMember: member, in: part) { add(key, problem, member) }
        review(field.children[1], as: part.member(member), text(key))
      }
    case (.table, .array):
      for field in value.children where field.kind == .positionalField {
        review(field.children[0], as: part.member(nil), target)
      }
    default:
      let given = flow.type(of: value)
      guard ValueType(type).excludes(given) || type.isInteger && value.isFraction else { return }
      if case .data(let types) = part.root {
        return add(
          value, .wrongArguments,
          "the data of \(Declarations.names(of: types)) has '\(part.text)' as \(type.text), and \(given.text) is given here"
        )
      }
      let what = ValueType(literal: value) == .any ? ", which is \(given.text)" : ""
      add(value, .wrongArguments, "\(target) is declared as \(type.text), and gets \(text(value))\(what)")
    }
  }

  /// Reviews the data of an event, where its text tells all members; a call as the last argument may give the data, too.
  private mutating func review(_ event: MadeEvent) {
    guard let type = event.type.stringValue else { return }
    let fields = event.data?.children ?? [], described = flow.declarations.checked(type)
    let members = fields.compactMap { $0.kind == .namedField ? $0.children[0].stringValue : nil }
    guard event.data.map({ $0.kind == .table }) ?? true, members.count == fields.count, !described.isEmpty else {
      return
    }
    let before = findings.count
    if let data = event.data { review(data, as: .init(root: .data([type]))) }
    let needed = described.flatMap(\.data.members).first { !$0.isOptional && !members.contains($0.name) }
    if let needed, findings.count == before {
      add(event.type, .unknownMember, "the data of '\(type)' needs '\(needed.name)', which is not given here")
    }
  }

  /// Finds elements that don't fit their list, and objects in the place of lists.
  private mutating func review(call node: SyntaxNode) {
    guard let name = flow.variables.hostName(node.children[0]), let list = node.arguments.first,
      ["ipairs", "table.insert", "table.remove"].contains(name)
    else { return }
    review(list: list)
    guard name == "table.insert", let part = flow.part(list), let value = node.arguments.dropFirst().last else {
      return
    }
    if case .state = part.root { review(value, as: part.member(nil), text(list)) }
  }

  private mutating func review(list node: SyntaxNode) {
    switch flow.dataType(of: node) {
    case .members?, .object?: add(node, .oddExpression, "\(text(node)) is no array: pairs visits its members")
    default: break
    }
  }
}

extension DataType {
  fileprivate var isInteger: Bool { if case .integer = self { true } else { false } }
}

extension SyntaxNode {
  /// Whether it is a number that is no whole one.
  fileprivate var isFraction: Bool { kind == .number && Double(text).map { $0 != $0.rounded() } == true }
}
