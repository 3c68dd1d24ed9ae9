internal import RuledLua

/// The types of the expressions of a file, where they are certain: literals, results of functions of the host and of Lua, declared values, and
/// variables that get one of these once.
struct ValueFlow {
  /// The type of an expression by the plugin's declarations.
  private let declared: (SyntaxNode) -> ValueType
  private var held: [Int: ValueType] = [:]
  /// The variables that hold the event of a rule.
  private var events: Set<Int> = []

  private static let functions = Dictionary(
    uniqueKeysWithValues: (RuleLibrary.functions + RuleLibrary.ofLua).map {
      ($0.name, $0.results.first.map { ValueType($0.type) } ?? .any)
    })
  /// The types of the handlers' arguments, by the function that declares them.
  private static let given: [String: ValueType] = [
    "web": ValueType(
      "{ method: string, host: string, path: string, query: table, query_string: string, headers: table, body: string }"
    ),
    "sink": ValueType(
      "{ id: string, plugin: string, sink: string, type: string, data: any, subject: string, at: string }"),
  ]

  init(_ tree: SyntaxTree, declared: @escaping (SyntaxNode) -> ValueType) {
    self.declared = declared
    let assigned = FileFunctions.assigned(in: tree)
    tree.root.forEach { node in
      switch node.kind {
      case .local:
        for (local, value) in node.locals(besides: assigned) { held[local] = type(of: value) }
      case .genericFor:
        let variables = node.children[0].children, values = node.children[1].children
        guard variables.count > 1, let local = variables[1].local, values.first?.kind == .call,
          values[0].children[0].globalName == "ipairs", let list = values[0].children[1].children.first,
          case .list(let element) = type(of: list)
        else { return }
        held[local] = element
      case .call: note(declaration: node)
      default: break
      }
    }
  }

  private mutating func note(declaration node: SyntaxNode) {
    if let rule = Declaration.rule(node) {
      for function in [rule["when"], rule["run"]] where function?.kind == .function {
        if let local = function?.children[0].children.first?.local { events.insert(local) }
      }
    }
    guard let (kind, handler, options) = Declaration.handler(node) else { return }
    let parameters = handler.children[0].children
    if let type = Self.given[kind], let local = parameters.first?.local { held[local] = type }
    guard kind == "query", parameters.count > 1, let local = parameters[1].local,
      let arguments = options["args"], arguments.kind == .table
    else { return }
    let names = arguments.children.map { $0.children[0].stringValue }
    guard !arguments.children.contains(where: { $0.kind != .namedField }), !names.contains(nil) else { return }
    held[local] = .record(
      names.compactMap { $0 }.map { ValueType.Member(name: $0.last == "?" ? String($0.dropLast()) : $0, type: .any) })
  }

  /// The type of a member of an event.
  private static func member(of node: SyntaxNode) -> ValueType {
    switch node.children[1].stringValue {
    case "time": .number
    case "id", "source", "type", "subject", "origin", "sender": .string
    case "data": .table
    default: .any
    }
  }

  /// The type of an expression; `any` where it is not known.
  func type(of node: SyntaxNode) -> ValueType {
    switch node.kind {
    case .name:
      if let local = node.local { return held[local] ?? .any }
      return Self.functions[node.text] == nil ? .any : .function
    case .parenthesis: return type(of: node.children[0])
    case .index:
      let declared = self.declared(node)
      if declared != .any { return declared }
      if let name = CallReview.hostName(node), Self.functions[name] != nil { return .function }
      if let local = node.children[0].local, events.contains(local) { return Self.member(of: node) }
      switch type(of: node.children[0]) {
      case .record(let members):
        return members.first { $0.name == node.children[1].stringValue }?.type ?? .any
      case .list(let element) where node.children[1].stringValue == nil: return element
      default: return .any
      }
    case .call: return CallReview.hostName(node.children[0]).flatMap { Self.functions[$0] } ?? .any
    case .unary: return node.text == "not" ? .boolean : .number
    case .binary:
      switch node.text {
      case "..": return .string
      case "and": return .any
      case "or":
        let left = type(of: node.children[0])
        return left == type(of: node.children[1]) || node.children[1].isEmptyTable ? left : .any
      case "==", "~=", "<", ">", "<=", ">=": return .boolean
      default: return node.children.contains { $0.kind == .string } ? .any : .number
      }
    default: return ValueType(literal: node)
    }
  }
}

/// The declarations of a file: `rule "name" {…}`, `query "name" (function …)` and the like.
enum Declaration {
  /// The kind of a call's declaration, its function, and the fields of its table; nil if it declares no query and no handler.
  static func handler(_ call: SyntaxNode) -> (kind: String, handler: SyntaxNode, options: [String: SyntaxNode])? {
    guard call.kind == .call, call.children[0].kind == .call, let kind = call.children[0].children[0].globalName,
      ["query", "web", "sink"].contains(kind), let body = call.children[1].children.first
    else { return nil }
    let options = fields(body)
    guard let handler = body.kind == .function ? body : options["run"], handler.kind == .function else { return nil }
    return (kind, handler, options)
  }

  /// The table of `rule "name" {…}` by its fields; nil for any other call.
  static func rule(_ call: SyntaxNode) -> [String: SyntaxNode]? {
    guard call.kind == .call, call.children[0].kind == .call, call.children[0].children[0].globalName == "rule",
      let table = call.children[1].children.first, table.kind == .table
    else { return nil }
    return fields(table)
  }

  /// The values of a table's fields that have names.
  static func fields(_ table: SyntaxNode) -> [String: SyntaxNode] {
    guard table.kind == .table else { return [:] }
    return table.children.reduce(into: [:]) { fields, field in
      if field.kind == .namedField, let name = field.children[0].stringValue { fields[name] = field.children[1] }
    }
  }
}

extension SyntaxNode {
  var isEmptyTable: Bool { kind == .table && children.isEmpty }

  /// The table at the beginning of a chain of members, such as `event` of `event.data.name`.
  var chainRoot: SyntaxNode {
    kind == .index || kind == .parenthesis ? children[0].chainRoot : self
  }
}
