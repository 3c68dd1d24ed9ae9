internal import RuledLua

/// The exports of a module, where its text tells all of them.
struct ModuleExports {
  /// The members by name; the signature is nil where a member is no function, or an unknown one.
  private(set) var members: [String: Signature?] = [:]
  /// Their names, in order.
  private(set) var names: [String] = []
  /// The functions among them, where it is certain which one a member is.
  private var bodies: [String: SyntaxNode] = [:]
  /// The file's uses of the arguments of its functions.
  private(set) var reads: ParameterReads
  private(set) var file: SourceFile

  /// The members of the table that the file returns; nil if more may be in it than its text tells.
  init?(_ file: SourceFile, _ tree: SyntaxTree) {
    guard let last = tree.root.children.last, last.kind == .returnStatement, last.children[0].children.count == 1
    else { return nil }
    let variables = FileValues(tree), result = last.children[0].children[0]
    self.file = file
    reads = ParameterReads(variables)
    if result.kind == .table {
      guard note(fields: result, variables, file) else { return nil }
    } else if let local = result.local {
      var walk = Walk(local: local, variables: variables, file: file, exports: self)
      walk.visit(tree.root)
      guard walk.isWhole else { return nil }
      self = walk.exports
    } else {
      return nil
    }
    reads.read(tree, own: bodies, in: result.local)
    names = members.keys.sorted()
  }

  /// The file's use of a parameter of one of its functions; nil if that is not known.
  func value(of parameter: ParameterReads.Parameter) -> Int? {
    let parameters = bodies[parameter.function]?.children[0].children ?? []
    return parameter.index < parameters.count ? parameters[parameter.index].local.flatMap { reads.held[$0] } : nil
  }

  private mutating func note(fields table: SyntaxNode, _ variables: FileValues, _ file: SourceFile) -> Bool {
    for field in table.children {
      guard field.kind == .namedField, let name = field.children[0].stringValue else { return false }
      note(name, field.children[1], variables, file)
    }
    return true
  }

  private mutating func note(_ name: String, _ value: SyntaxNode, _ variables: FileValues, _ file: SourceFile) {
    let function = variables.value(value, .function)
    // A local that is assigned twice may be called in two ways.
    let isKnown = members.keys.contains(name)
    bodies[name] = isKnown ? nil : function
    members.updateValue(isKnown ? nil : function.map { Signature($0, in: file.text) }, forKey: name)
  }

  /// A walk over a file that notes the members put into a table, and whether the table is used in other ways.
  private struct Walk {
    let local: Int
    let variables: FileValues
    let file: SourceFile
    var exports: ModuleExports
    var isWhole = true

    mutating func visit(_ node: SyntaxNode) {
      switch node.kind {
      case .name:
        if node.local == local { isWhole = false }
      case .index where node.children[0].local == local:
        // Reading a member by a name, or by a key that something computes, adds nothing.
        visit(node.children[1])
      case .methodCall where node.children[0].local == local: visit(node.children[1])
      case .returnStatement where node.children[0].children.first?.local == local: break
      case .local: visit(declaration: node)
      case .assignment:
        for (index, target) in node.children[0].children.enumerated() {
          let values = node.children[1].children
          visit(target: target, value: index < values.count ? values[index] : nil)
        }
        visit(node.children[1])
      case .functionStatement:
        let isMethod = file.text[node.children[0].range].contains(UInt8(ascii: ":"))
        visit(target: node.children[0], value: isMethod ? nil : node.children[1])
        visit(node.children[1])
      default: for child in node.children { visit(child) }
      }
    }

    private mutating func visit(declaration node: SyntaxNode) {
      for (index, target) in node.children[0].children.enumerated() where target.local == local {
        let values = node.children[1].children
        guard index < values.count, values[index].kind == .table else {
          isWhole = false
          continue
        }
        if !exports.note(fields: values[index], variables, file) { isWhole = false }
      }
      visit(node.children[1])
    }

    private mutating func visit(target: SyntaxNode, value: SyntaxNode?) {
      guard target.kind == .index, target.children[0].local == local else { return visit(target) }
      guard let name = target.children[1].stringValue else {
        isWhole = false
        return
      }
      if let value {
        exports.note(name, value, variables, file)
      } else {
        exports.members.updateValue(nil, forKey: name)
      }
    }
  }
}
