internal import RuledLua

/// The declarations of a file: `rule "name" {…}`, `query "name" (function …)` and the like.
enum Declaration {
  /// The kind of a call's declaration, its function or the name of one, and the fields of its table; nil if it declares no query and no
  /// handler.
  static func handler(_ call: SyntaxNode) -> (kind: String, handler: SyntaxNode, options: [String: SyntaxNode])? {
    guard call.kind == .call, call.children[0].kind == .call, let kind = call.children[0].children[0].globalName,
      ["query", "web", "sink"].contains(kind), let body = call.children[1].children.first
    else { return nil }
    let options = fields(body)
    return (body.kind == .table ? options["run"] : body).map { (kind, $0, options) }
  }

  /// The table of `rule "name" {…}`, or of another declaration, by its fields; nil for any other call.
  static func rule(_ call: SyntaxNode, _ kind: String = "rule") -> [String: SyntaxNode]? {
    guard call.kind == .call, call.children[0].kind == .call, call.children[0].children[0].globalName == kind,
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

/// A call that makes an event of a type.
struct MadeEvent {
  let type: SyntaxNode
  let data: SyntaxNode?
  /// The call's use of the type.
  let verb: String

  private static let calls: [String: (type: Int, verb: String)] = [
    "raise": (0, "which is raised here"), "send": (1, "which is sent here"),
    "publish": (1, "which is published here"), "timer.set": (2, "for which a timer is set here"),
    "timer.every": (2, "for which a timer is set here"),
  ]

  /// Nil for other calls; `variables` are those of the file.
  init?(_ call: SyntaxNode, _ variables: FileValues) {
    guard call.kind == .call, let known = variables.hostName(call.children[0]).flatMap({ Self.calls[$0] }),
      known.type < call.arguments.count
    else { return nil }
    type = call.arguments[known.type]
    data = call.arguments.dropFirst(known.type + 1).first
    verb = known.verb
  }
}

extension SyntaxNode {
  var isEmptyTable: Bool { kind == .table && children.isEmpty }

  /// The table at the beginning of a chain of members, such as `event` of `event.data.name`.
  var chainRoot: SyntaxNode {
    kind == .index || kind == .parenthesis ? children[0].chainRoot : self
  }
}
