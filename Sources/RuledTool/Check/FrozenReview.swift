internal import RuledLua

/// Finds changes of tables that are frozen: the event, the settings, data files, other plugins' states, arguments of queries and handlers, and tables
/// of the file.
struct FrozenReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  /// Descriptions of the frozen values that variables hold, those of the file and those of the handler at hand.
  private var constants: [Int: String] = [:]
  private var frozen: [Int: String] = [:]
  /// The frozen parameters of the functions that were visited for the handler, by the functions' positions.
  private var visited: [Int: Set<Int>] = [:]
  private let values: FileValues

  private static let changers: Set<String> = ["table.insert", "table.remove", "table.sort"]
  private static let parameters = [
    "query": [0: "a query's state", 1: "a query's arguments"], "web": [0: "a request"], "sink": [0: "an effect"],
  ]

  init(_ source: SourceReview) {
    file = source.file
    values = source.variables
    // Tables of the file may be changed while it loads.
    for statement in source.tree.root.children where statement.kind == .local {
      for (local, value) in statement.declared where value.kind == .table {
        constants[local] = "a table of the file"
      }
    }
    source.tree.root.forEach { node in
      if let rule = Declaration.rule(node) {
        for run in [rule["when"], rule["run"]] { review(run, [0: "the event"]) }
      } else if let (kind, run, _) = Declaration.handler(node), let parameters = Self.parameters[kind] {
        review(run, parameters)
      }
    }
  }

  private mutating func review(_ handler: SyntaxNode?, _ parameters: [Int: String]) {
    guard let handler else { return }
    (frozen, visited) = (constants, [:])
    visit(handler, parameters)
  }

  /// Visits a function that runs after the file is loaded, and those of the file that it calls.
  private mutating func visit(_ node: SyntaxNode, _ parameters: [Int: String]) {
    guard let function = values.function(node) else { return }
    let known = visited[function.range.lowerBound], given = Set(parameters.keys)
    guard known?.isSuperset(of: given) != true else { return }
    visited[function.range.lowerBound] = given.union(known ?? [])
    for (index, parameter) in function.children[0].children.enumerated() {
      guard let local = parameter.local, let what = parameters[index], !values.assigned.contains(local) else {
        continue
      }
      frozen[local] = what
    }
    function.children[1].forEach { node in
      switch node.kind {
      case .assignment:
        for target in node.children[0].children where target.kind == .index { review(target.children[0], target) }
      case .call:
        let arguments = node.arguments
        if let name = values.hostName(node.children[0]), Self.changers.contains(name), let list = arguments.first {
          review(list, node)
        }
        let given = arguments.enumerated().compactMap { index, argument in owner(of: argument).map { (index, $0) } }
        visit(node.children[0], Dictionary(uniqueKeysWithValues: given))
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
