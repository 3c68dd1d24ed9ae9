internal import RuledLua

/// Finds changes of tables that are frozen: the event, the settings, data files, other plugins' states, arguments of queries and handlers, and tables
/// of files.
struct FrozenReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  private let own: RequiredModules.Module
  private let modules: RequiredModules
  /// By file, descriptions of the frozen values that variables hold: tables of the file, and what the handler at hand gives.
  private var frozen: [String: [Int: String]] = [:]
  /// By file, the frozen parameters of the functions that were visited for the handler, by the functions' positions.
  private var visited: [String: [Int: Set<Int>]] = [:]

  private static let changers: Set<String> = ["table.insert", "table.remove", "table.sort"]
  private static let parameters = [
    "query": [0: "a query's state", 1: "a query's arguments"], "web": [0: "a request"], "sink": [0: "an effect"],
  ]

  init(_ source: SourceReview, _ modules: RequiredModules) {
    file = source.file
    self.modules = modules
    own = .init(file: source.file, tree: source.tree, values: source.variables, exports: nil)
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
    (frozen, visited) = ([:], [:])
    visit(handler, parameters, in: own)
  }

  /// The tables of a file, which may be changed while it loads.
  private static func tables(of module: RequiredModules.Module) -> [Int: String] {
    let declared = module.tree.root.children.filter { $0.kind == .local }.flatMap(\.declared)
    return declared.reduce(into: [:]) { if $1.value.kind == .table { $0[$1.local] = "a table of the file" } }
  }

  /// Visits a function that runs after the files are loaded, and those that it calls; `call` is the call of this file that leads to another.
  private mutating func visit(
    _ node: SyntaxNode, _ parameters: [Int: String], in caller: RequiredModules.Module, from call: SyntaxNode? = nil
  ) {
    guard let (function, module) = modules.function(node, in: caller) else { return }
    let path = module.file.path, call = path == file.path ? nil : call
    let known = visited[path]?[function.range.lowerBound], given = Set(parameters.keys)
    guard known?.isSuperset(of: given) != true else { return }
    visited[path, default: [:]][function.range.lowerBound] = given.union(known ?? [])
    var values = frozen[path] ?? Self.tables(of: module)
    for (index, parameter) in function.children[0].children.enumerated() {
      guard let local = parameter.local, let what = parameters[index], !module.values.assigned.contains(local) else {
        continue
      }
      values[local] = what
    }
    frozen[path] = values
    function.children[1].forEach { node in
      if node.kind == .assignment {
        for target in node.children[0].children where target.kind == .index {
          review(target.children[0], target, in: module, from: call)
        }
      }
      for (function, arguments) in module.values.calls(node) {
        if let name = module.values.hostName(function), Self.changers.contains(name), let list = arguments.first {
          review(list, node, in: module, from: call)
        }
        let given = arguments.enumerated().compactMap { index, argument in
          owner(of: argument, in: module).map { (index, $0) }
        }
        visit(function, Dictionary(uniqueKeysWithValues: given), in: module, from: call ?? node)
      }
    }
  }

  /// The frozen value that an expression is a part of; nil if it is none.
  private func owner(of node: SyntaxNode, in module: RequiredModules.Module) -> String? {
    let root = node.chainRoot
    if let local = root.local {
      return frozen[module.file.path]?[local] ?? module.values[local].flatMap { owner(of: $0, in: module) }
    }
    if let name = module.values.module(of: root) { return "a table of the module '\(name)'" }
    switch root.globalName ?? (root.kind == .call ? root.children[0].globalName : nil) {
    case "settings" where root.kind == .name: return "the settings"
    case "plugin" where root.kind == .name: return "plugin"
    case "data" where root.kind == .call: return "a data file"
    case "peek" where root.kind == .call: return "another plugin's state"
    default: return nil
    }
  }

  private mutating func review(
    _ table: SyntaxNode, _ target: SyntaxNode, in module: RequiredModules.Module, from call: SyntaxNode?
  ) {
    guard let what = owner(of: table, in: module) else { return }
    let place = call == nil ? "" : " (\(module.file.path):\(target.line))"
    add(call ?? target, .frozenTable, "\(what) can't be changed; change the state, or a copy" + place)
  }
}
