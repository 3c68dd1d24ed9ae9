internal import RuledLua

/// The exports of a module, where its text tells all of them.
struct ModuleExports {
  /// The members by name; the signature is nil where a member is no function, or an unknown one.
  private(set) var members: [String: Signature?] = [:]
  /// The members that the parameters called `options` may have; nil if more may be read than the text tells.
  private(set) var options: [String]?

  /// The members of the table that the file returns; nil if more may be in it than its text tells.
  init?(_ file: SourceFile, _ tree: SyntaxTree) {
    guard let last = tree.root.children.last, last.kind == .returnStatement, last.children[0].children.count == 1
    else { return nil }
    let functions = FileFunctions(tree), result = last.children[0].children[0]
    var reads = OptionReads(functions)
    reads.visit(tree.root)
    options = reads.names.map { $0.sorted() }
    if result.kind == .table {
      guard note(fields: result, functions, file) else { return nil }
    } else if let local = result.local {
      var walk = Walk(local: local, functions: functions, file: file, exports: self)
      walk.visit(tree.root)
      guard walk.isWhole else { return nil }
      self = walk.exports
    } else {
      return nil
    }
  }

  private mutating func note(fields table: SyntaxNode, _ functions: FileFunctions, _ file: SourceFile) -> Bool {
    for field in table.children {
      guard field.kind == .namedField, let name = field.children[0].stringValue else { return false }
      note(name, field.children[1], functions, file)
    }
    return true
  }

  private mutating func note(_ name: String, _ value: SyntaxNode, _ functions: FileFunctions, _ file: SourceFile) {
    let function = value.kind == .function ? value : value.local.flatMap { functions.bodies[$0] }
    // A local that is assigned twice may be called in two ways.
    let isKnown = members.keys.contains(name)
    members.updateValue(isKnown ? nil : function.map { Signature($0, in: file.text) }, forKey: name)
  }

  /// A walk over a file that notes the members of `options` that it reads.
  private struct OptionReads {
    /// The members; nil if `options` is passed on to a function whose reads are not known.
    private(set) var names: Set<String>? = []
    private let functions: FileFunctions

    init(_ functions: FileFunctions) { self.functions = functions }

    mutating func visit(_ node: SyntaxNode) {
      switch node.kind {
      case .name where node.text == "options" && node.local != nil: names = nil
      case .index where node.children[0].text == "options":
        if let name = node.children[1].stringValue { names?.insert(name) } else { names = nil }
      case .call where functions.module(of: node.children[0].chainRoot) == nil:
        // A function of the same file has its parameter called so, too.
        for argument in node.children[1].children where argument.text != "options" { visit(argument) }
        visit(node.children[0])
      case .function: visit(node.children[1])
      default: for child in node.children { visit(child) }
      }
    }
  }

  /// A walk over a file that notes the members put into a table, and whether the table is used in other ways.
  private struct Walk {
    let local: Int
    let functions: FileFunctions
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
        if !exports.note(fields: values[index], functions, file) { isWhole = false }
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
        exports.note(name, value, functions, file)
      } else {
        exports.members.updateValue(nil, forKey: name)
      }
    }
  }
}
