internal import RuledLua

/// Finds in one file calls that the host refuses where they stand, in functions that are called from there too, and functions that should
/// return a value and don't.
struct HandlerReview: FileReview {
  var findings: [Finding] = []

  let file: SourceFile
  private let own: RequiredModules.Module
  private let modules: RequiredModules
  /// The caller of the functions at hand and its moment, and the positions of those that were visited for it, by file.
  private var caller = "a file that loads"
  private var phase = LibraryFunction.Phase.load
  private var visited: [String: Set<Int>] = [:]

  /// A module that is loaded can be required at any time.
  private static let phases: [String: Set<LibraryFunction.Phase>] = Dictionary(
    uniqueKeysWithValues: RuleLibrary.functions.map { ($0.name, $0.phases) }
      + RuleLibrary.declarations.filter { $0 != "require" }.map { ($0, [.load]) })
  private static let kinds: [String: (caller: String, phase: LibraryFunction.Phase)] = [
    "query": ("a query", .query), "web": ("a web handler", .handler), "sink": ("a sink handler", .handler),
  ]

  init(_ source: SourceReview, _ modules: RequiredModules) {
    file = source.file
    self.modules = modules
    own = .init(file: source.file, tree: source.tree, values: source.variables, exports: nil)
    visit(source.tree.root, in: own)
    source.tree.root.forEach { node in
      if node.kind == .call, node.children[0].globalName == "migrate" { reviewSteps(node) }
      if let (kind, run, options) = Declaration.handler(node), let (what, phase) = Self.kinds[kind] {
        if kind == "query" {
          let arguments = options["args"].map(Declaration.fields) ?? [:]
          review(order: body(run), ["state", "args"]) { arguments.keys.contains($0) }
        }
        review(run, what, phase)
        reviewReturn(run, "\(what) answers with what it returns")
      } else if let rule = Declaration.rule(node) {
        for run in [rule["run"], rule["when"]] {
          review(run, "a rule", .rule)
          review(order: body(run), ["event", "state"]) { !SourceReview.eventFields.contains($0) }
        }
        if let function = body(rule["when"]), !function.returnsValue {
          add(function, .deadCondition, "'when' returns nothing, so the rule never runs; return the condition")
        }
      }
      review(Declaration.rule(node, "setting")?["check"], "the check of a setting", .load)
    }
  }

  private func body(_ node: SyntaxNode?) -> SyntaxNode? { own.values.value(node, .function) }

  /// Finds parameters in the wrong order; one that stands alone, if a member of the second one is read of it.
  private mutating func review(order function: SyntaxNode?, _ names: [String], isOfSecond: (String) -> Bool) {
    guard let list = function?.children[0], let first = list.children.first, first.text == names[1] else { return }
    var isSecond = list.children.dropFirst().first?.text == names[0]
    function?.forEach { node in
      guard list.children.count == 1, node.kind == .index, node.children[0].local == first.local else { return }
      if let member = node.children[1].stringValue, isOfSecond(member) { isSecond = true }
    }
    if isSecond { add(list, .wrongArguments, "gets \(names.joined(separator: ", ")), in this order") }
  }

  /// Finds steps to another version of the state that return none.
  private mutating func reviewSteps(_ call: SyntaxNode) {
    call.forEach { node in
      guard node.kind == .namedField, ["up", "down"].contains(node.children[0].stringValue) else { return }
      review(node.children[1], "a step of a migration", .step)
      reviewReturn(node.children[1], "a step returns the state")
    }
  }

  private mutating func reviewReturn(_ node: SyntaxNode, _ why: String) {
    guard let function = body(node), !function.returnsValue, !function.children[1].children.isEmpty else { return }
    add(function, .missingReturn, "returns nothing: \(why)")
  }

  // MARK: Calls

  private mutating func review(_ function: SyntaxNode?, _ caller: String, _ phase: LibraryFunction.Phase) {
    guard let function, function.kind != .methodCall else { return }
    (self.caller, self.phase, visited) = (caller, phase, [:])
    follow(function, in: own)
  }

  /// Visits the function that an expression is, or that a call with a colon calls; `call` is the call of this file that leads to another.
  private mutating func follow(_ node: SyntaxNode, in module: RequiredModules.Module, from call: SyntaxNode? = nil) {
    guard let (body, other) = modules.function(node, in: module),
      visited[other.file.path, default: []].insert(body.range.lowerBound).inserted
    else { return }
    visit(body.children[1], in: other, from: other.file.path == file.path ? nil : call)
  }

  private mutating func visit(_ node: SyntaxNode, in module: RequiredModules.Module, from call: SyntaxNode? = nil) {
    for (function, arguments) in module.values.calls(node) {
      if let problem = problem(calling: function, with: arguments, in: module) {
        let place = call == nil ? "" : " (\(module.file.path):\(node.line))"
        add(call ?? node, .forbiddenCall, problem + place)
      }
      follow(function, in: module, from: call ?? node)
    }
    // A function that a file makes while it loads is called later.
    for child in node.children where phase != .load || child.kind != .function {
      visit(child, in: module, from: call)
    }
  }

  private func problem(
    calling function: SyntaxNode, with arguments: [SyntaxNode], in module: RequiredModules.Module
  ) -> String? {
    guard let name = module.values.hostName(function), let phases = Self.phases[name] else { return nil }
    if name == "bucket", phase == .load || phase == .handler, arguments.count == 1, arguments[0].kind == .string {
      return "bucket needs a key here, as there is no subject"
    }
    guard !phases.contains(phase) else { return nil }
    let why =
      switch phases {
      case .rules: "which changes something"
      case .queries: "which only queries can"
      case [.load]: "which works only while a file loads"
      default: phase == .step ? "as it gets the state alone" : "as there is no event"
      }
    return "\(caller) can't call '\(name)', \(why)"
  }
}

extension SyntaxNode {
  /// Whether a function returns a value in any place, functions in it left out; one that ends with an error counts.
  var returnsValue: Bool { children.contains(where: \.hasReturn) }

  private var hasReturn: Bool {
    switch kind {
    case .returnStatement: children.contains { $0.kind != .list || !$0.children.isEmpty }
    case .call where children[0].globalName == "error": true
    case .function: false
    default: children.contains(where: \.hasReturn)
    }
  }
}
