internal import RuledLua

/// Tells which variables of a file hold the event of a rule, its data, or the plugin's state, as far as that is certain.
///
/// A rule gives its event and its state to the functions that are its `run` and `when`; these may stand in the rule or be local functions of the file. They
/// may give it, or its data, to other local functions and variables. Nothing is told of a variable that gets something else anywhere, and of
/// the parameters of a function that is used in other ways than to be called: its receiver may call it with anything.
struct EventFlow {
  private enum Value: Equatable {
    /// Nothing has been found yet.
    case nothing
    /// The event of rules that listen to these types, all of them exact.
    case event([String])
    /// The data of such an event, or the member of it at that path.
    case data([String], path: [String])
    /// The plugin's state of the event's subject.
    case state
    /// Any other value, or an unknown one.
    case unknown

    /// The value of a variable that gets this in one place and `other` in another.
    func joined(_ other: Value) -> Value {
      switch (self, other) {
      case (.nothing, let value), (let value, .nothing): value
      case (.state, .state): .state
      case (.event(let left), .event(let right)): .event(left + right.filter { !left.contains($0) })
      case (.data(let left, let path), .data(let right, let other)) where path == other:
        .data(left + right.filter { !left.contains($0) }, path: path)
      default: .unknown
      }
    }
  }

  private enum Source {
    case fixed(Value)
    case expression(SyntaxNode)
  }

  private var values: [Int: Value] = [:]
  private var sources: [Int: [Source]] = [:]
  /// The parameters of local functions, by the variable that holds the function.
  private var parameters: [Int: [SyntaxNode]] = [:]

  init(_ tree: SyntaxTree) {
    tree.root.forEach { findFunctions(in: $0) }
    findSources(in: tree.root)
    let variables = sources.keys.sorted()
    var isChanged = true
    while isChanged {
      isChanged = false
      for variable in variables {
        let value = sources[variable, default: []].reduce(Value.nothing) { $0.joined(self.value(of: $1)) }
        if value != values[variable, default: .nothing] {
          values[variable] = value
          isChanged = true
        }
      }
    }
  }

  /// The types of the event whose data an expression is, or a member of it, and its path; nil for anything else.
  func data(_ node: SyntaxNode) -> (types: [String], path: [String])? {
    guard case .data(let types, let path) = value(of: node) else { return nil }
    return (types, path)
  }

  /// Whether a variable holds the plugin's state, and nothing else.
  func holdsState(_ variable: Int) -> Bool { values[variable] == .state }

  private func value(of source: Source) -> Value {
    switch source {
    case .fixed(let value): value
    case .expression(let node): value(of: node)
    }
  }

  private func value(of node: SyntaxNode) -> Value {
    switch node.kind {
    case .name: return node.local.map { sources[$0] == nil ? .unknown : values[$0, default: .nothing] } ?? .unknown
    case .parenthesis: return value(of: node.children[0])
    case .index:
      switch value(of: node.children[0]) {
      case .nothing: return .nothing
      case .event(let types) where node.children[1].stringValue == "data": return .data(types, path: [])
      case .data(let types, let path):
        return node.children[1].stringValue.map { .data(types, path: path + [$0]) } ?? .unknown
      default: return .unknown
      }
    default: return .unknown
    }
  }

  // MARK: Where values come from

  private mutating func findFunctions(in node: SyntaxNode) {
    switch node.kind {
    case .localFunction: note(function: node.children[1], in: node.children[0])
    case .local:
      for (target, value) in zip(node.children[0].children, node.children[1].children) where value.kind == .function {
        note(function: value, in: target)
      }
    default: break
    }
  }

  private mutating func note(function: SyntaxNode, in variable: SyntaxNode) {
    if let variable = variable.local { parameters[variable] = function.children[0].children }
  }

  private mutating func findSources(in node: SyntaxNode) {
    var parts = node.children[...]
    switch node.kind {
    case .local:
      let values = node.children[1].children
      for (index, target) in node.children[0].children.enumerated() {
        add(index < values.count ? .expression(values[index]) : .fixed(.unknown), to: target)
      }
      parts = parts.dropFirst()
    case .localFunction:
      parts = parts.dropFirst()
    case .assignment:
      for target in node.children[0].children { add(.fixed(.unknown), to: target) }
    case .call:
      if let (kind, handler, _) = Declaration.handler(node), kind == "query" {
        if let parameter = handler.children[0].children.first { add(.fixed(.state), to: parameter) }
      }
      if let rule = Self.rule(node) {
        findSources(inRule: rule)
        parts = node.children[0].children[1...]
      }
      if let called = node.children[0].local, parameters[called] != nil {
        give(node.children[1].children.map(Source.expression), toFunctionIn: called)
        parts = parts.dropFirst()
      }
    case .name:
      if let variable = node.local { give([], toFunctionIn: variable) }
    default: break
    }
    for part in parts { findSources(in: part) }
  }

  private mutating func add(_ source: Source, to target: SyntaxNode) {
    if let variable = target.local { sources[variable, default: []].append(source) }
  }

  /// Notes the arguments of a call for the parameters of a local function; parameters without one may hold anything.
  private mutating func give(_ arguments: [Source], toFunctionIn variable: Int) {
    for (index, parameter) in parameters[variable, default: []].enumerated() {
      add(index < arguments.count ? arguments[index] : .fixed(.unknown), to: parameter)
    }
  }

  // MARK: Rules

  /// The table of `rule "name" {…}`; nil for any other call.
  private static func rule(_ call: SyntaxNode) -> SyntaxNode? {
    let function = call.children[0]
    guard function.kind == .call, function.children[0].globalName == "rule" else { return nil }
    return call.children[1].children.first { $0.kind == .table }
  }

  private mutating func findSources(inRule table: SyntaxNode) {
    let event = Source.fixed(Self.types(ofRule: table).map(Value.event) ?? .unknown)
    for field in table.children {
      let handler = field.children.last
      guard let handler, field.kind == .namedField, ["run", "when"].contains(field.children[0].stringValue) else {
        findSources(in: field)
        continue
      }
      if let variable = handler.local, parameters[variable] != nil {
        give([event, .fixed(.state)], toFunctionIn: variable)
        continue
      }
      if handler.kind == .function {
        for (parameter, source) in zip(handler.children[0].children, [event, .fixed(.state)]) {
          add(source, to: parameter)
        }
      }
      findSources(in: handler)
    }
  }

  /// The types that a rule listens to; nil unless all of them are exact and stand in the table.
  private static func types(ofRule table: SyntaxNode) -> [String]? {
    let field = table.children.first { $0.kind == .namedField && $0.children[0].stringValue == "on" }
    guard let on = field?.children[1] else { return nil }
    let patterns = on.kind == .table ? on.children.map { $0.children.last?.stringValue } : [on.stringValue]
    let types = patterns.compactMap { $0 }
    guard types.count == patterns.count, !types.isEmpty, !types.contains(where: { $0.hasSuffix("*") }) else {
      return nil
    }
    return types
  }
}
