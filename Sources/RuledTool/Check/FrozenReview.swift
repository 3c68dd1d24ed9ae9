internal import RuledLua

/// Finds changes of tables that are frozen: the event, the settings, data files, other plugins' states, the state in queries, and tables of the
/// file.
struct FrozenReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  /// Descriptions of the frozen values that variables hold.
  private var frozen: [Int: String] = [:]
  private let values: FileValues

  private static let changers: Set<String> = ["table.insert", "table.remove", "table.sort"]

  init(_ file: SourceFile, _ tree: SyntaxTree) {
    self.file = file
    values = FileValues(tree)
    // Tables of the file may be changed while it loads.
    var constants: [Int: String] = [:]
    for statement in tree.root.children where statement.kind == .local {
      for (local, value) in statement.declared where value.kind == .table {
        constants[local] = "a table of the file"
      }
    }
    tree.root.forEach { node in
      if let rule = Declaration.rule(node) {
        for name in ["when", "run"] {
          guard let function = rule[name], function.kind == .function else { continue }
          visit(function, constants, [0: "the event"])
        }
      } else if let (kind, handler, _) = Declaration.handler(node), kind == "query", handler.kind == .function {
        visit(handler, constants, [0: "a query's state", 1: "a query's arguments"])
      }
    }
  }

  /// Visits a function that runs after the file is loaded.
  private mutating func visit(_ function: SyntaxNode, _ constants: [Int: String], _ parameters: [Int: String]) {
    frozen = constants
    for (index, parameter) in function.children[0].children.enumerated() {
      if let local = parameter.local, let what = parameters[index] { frozen[local] = what }
    }
    function.children[1].forEach { node in
      switch node.kind {
      case .assignment:
        for target in node.children[0].children where target.kind == .index { review(target.children[0], target) }
      case .call:
        guard let name = values.hostName(node.children[0]), Self.changers.contains(name),
          let list = node.arguments.first
        else { return }
        review(list, node)
      default: break
      }
    }
  }

  /// The frozen value that an expression is a part of; nil if it is none.
  private func owner(of node: SyntaxNode) -> String? {
    let root = node.chainRoot
    if let local = root.local { return frozen[local] ?? values[local].flatMap(owner) }
    switch root.globalName ?? (root.kind == .call ? root.children[0].globalName : nil) {
    case "settings" where root.kind == .name: return "the settings"
    case "plugin" where root.kind == .name: return "plugin"
    case "data" where root.kind == .call: return "a data file"
    case "peek" where root.kind == .call: return "another plugin's state"
    default: return nil
    }
  }

  private mutating func review(_ table: SyntaxNode, _ place: SyntaxNode) {
    guard let what = owner(of: table) else { return }
    add(place, .frozenTable, "\(what) can't be changed; change the state, or a copy")
  }
}
