internal import RuledLua

/// The values of the expressions of a file, where they are certain: the event, parts of what plugins declare, and types of literals, of results
/// of functions of the host and of Lua, and of handlers' arguments.
///
/// A rule gives its event and its state to the functions that are its `run` and `when`; these may stand in the rule or be local functions of
/// the file. They may give it, or any value, to other local functions and variables. Nothing is told of a variable that gets something else
/// anywhere, and of the parameters of a function that is used in other ways than to be called: its receiver may call it with anything. A
/// parameter that is called `state` is the state, but in steps, which have states of other versions.
struct ValueFlow {
  enum Value: Equatable {
    /// Nothing has been found yet.
    case nothing
    /// The event of rules that listen to these types; nil if these are not all types.
    case event(Set<String>?)
    case part(Declarations.Part)
    case typed(ValueType)

    static let unknown = Value.typed(.any)

    /// Makes it the value of a variable that gets this in one place and `other` in another.
    mutating func join(_ other: Value) {
      if case .event(var types?) = self, case .event(let others?) = other {
        self = .nothing  // a set that nothing else holds grows in its place
        types.formUnion(others)
        self = .event(types)
        return
      }
      switch (self, other) {
      case (_, .nothing): return
      case (.nothing, _): self = other
      case (.event, .event): self = .event(nil)
      case (.part(let part), .part(let other)): self = part.joined(other).map(Value.part) ?? .unknown
      default: if self != other { self = .unknown }
      }
    }
  }

  private enum Source {
    case fixed(Value)
    case expression(SyntaxNode)
    /// An element of the list that the expression is.
    case element(SyntaxNode)
  }

  let declarations: Declarations
  let variables: FileValues
  private var values: [Int: Value] = [:]
  private var sources: [Int: [Source]] = [:]
  /// The positions of the names of local functions that are the `run` or `when` of a rule.
  private var calledByHost: Set<Int> = []
  /// The parameters that are called `state`.
  private var states: [Int] = []
  private var isInSteps = false

  /// The types of the handlers' arguments, by the function that declares them.
  private static let given: [String: ValueType] = [
    "web": ValueType(
      "{ method: string, host: string, path: string, query: table, query_string: string, headers: table, body: string }"
    ),
    "sink": ValueType(
      "{ id: string, plugin: string, sink: string, type: string, data: any, subject: string, at: string }"),
  ]
  private static let event = ValueType(
    "{ time: number, id: string, source: string, type: string, subject: string, origin: string, sender: string, data: table }"
  )

  init(_ review: SourceReview, _ declarations: Declarations) {
    self.declarations = declarations
    variables = review.variables
    findSources(in: review.tree.root)
    for variable in states { sources[variable] = [state] }
    let order = sources.keys.sorted()
    var isChanged = true
    while isChanged {
      isChanged = false
      for variable in order {
        let known = values[variable, default: .nothing]
        let value = sources[variable, default: []].reduce(into: known) { $0.join(self.value(of: $1)) }
        if value != known {
          values[variable] = value
          isChanged = true
        }
      }
    }
  }

  // MARK: Values

  func type(of node: SyntaxNode) -> ValueType { type(of: value(of: node)) }

  private func type(of value: Value) -> ValueType {
    switch value {
    case .nothing: .any
    case .event: .table
    case .part(let part): declarations.type(of: part)
    case .typed(let type): type
    }
  }

  /// The declared type of an expression that is a part of what plugins declare.
  func dataType(of node: SyntaxNode) -> DataType? { part(node).flatMap(declarations.dataType) }

  func part(_ node: SyntaxNode) -> Declarations.Part? {
    if case .part(let part) = value(of: node) { part } else { nil }
  }

  /// Whether it is a text that any client may send.
  func isTextOfClients(_ node: SyntaxNode) -> Bool {
    guard let part = part(node), case .data(let types) = part.root else { return false }
    return declarations.type(of: part) == .string && declarations.areOfClients(types)
  }

  private func value(of source: Source) -> Value {
    switch source {
    case .fixed(let value): value
    case .expression(let node): value(of: node)
    case .element(let list): member(nil, of: value(of: list))
    }
  }

  private func value(of node: SyntaxNode) -> Value {
    switch node.kind {
    case .name:
      if let local = node.local { return sources[local] == nil ? .unknown : values[local, default: .nothing] }
      if node.text == "settings" { return .part(.init(root: .settings)) }
      return .typed(Signature.host[node.text] == nil ? .any : .function)
    case .parenthesis: return value(of: node.children[0])
    case .index:
      if let name = variables.hostName(node), Signature.host[name] != nil { return .typed(.function) }
      if let given = variables.member(node) { return value(of: given) }
      return member(node.children[1].stringValue, of: value(of: node.children[0]))
    case .call:
      let name = variables.hostName(node.children[0])
      if name == "peek", let plugin = node.arguments.first?.stringValue { return .part(.init(root: .state(plugin))) }
      return .typed(name.flatMap { Signature.host[$0]?.result } ?? .any)
    case .unary: return .typed(node.text == "not" ? .boolean : .number)
    case .binary: return value(ofOperation: node)
    default: return .typed(ValueType(literal: node))
    }
  }

  private func member(_ name: String?, of value: Value) -> Value {
    switch value {
    case .nothing: return .nothing
    case .event(let types?) where name == "data": return .part(.init(root: .data(types)))
    case .event: return member(name, of: .typed(Self.event))
    case .part(let part): return .part(part.member(name))
    case .typed(.record(let members)): return .typed(members.first { $0.name == name }?.type ?? .any)
    case .typed(.list(let element)) where name == nil: return .typed(element)
    case .typed: return .unknown
    }
  }

  private func value(ofOperation node: SyntaxNode) -> Value {
    switch node.text {
    case "..": return .typed(.string)
    case "and": return .unknown
    case "or":
      let (left, right) = (value(of: node.children[0]), value(of: node.children[1]))
      let types = (type(of: left), type(of: right))
      if left == .nothing || left == right || node.children[1].kind == .table && !types.0.excludes(.table) {
        return left
      }
      return types.0 == types.1 ? .typed(types.0) : .unknown
    case "==", "~=", "<", ">", "<=", ">=": return .typed(.boolean)
    default: return .typed(node.children.contains { $0.kind == .string } ? .any : .number)
    }
  }

  // MARK: Texts

  /// A text that an expression may be; `*` stands for what is not known of it.
  struct Text {
    var pattern = "*"
    /// The text's place, if it stands there as a whole.
    var literal: SyntaxNode?

    /// Its beginning: all of it, if it stands there as a whole.
    var beginning: String { literal?.text ?? String(pattern.prefix { $0 != "*" }) }
  }

  /// The texts that an expression may be, by way of variables and of parameters of local functions, and joined ones.
  func texts(of node: SyntaxNode) -> [Text] {
    var steps = 0
    return texts(of: node, beside: [], &steps)
  }

  /// The most expressions that are read for the texts of one; beyond them a text may be any.
  private static let mostSteps = 1000

  private func texts(of node: SyntaxNode, beside seen: Set<Int>, _ steps: inout Int) -> [Text] {
    steps += 1
    guard steps <= Self.mostSteps else { return [Text()] }
    switch node.kind {
    case .string: return [Text(pattern: node.text, literal: node)]
    case .nil: return []
    case .parenthesis: return texts(of: node.children[0], beside: seen, &steps)
    case .binary where ["and", "or"].contains(node.text):
      return node.children.suffix(node.text == "or" ? 2 : 1).flatMap { texts(of: $0, beside: seen, &steps) }
    case .binary where node.text == "..":
      let left = texts(of: node.children[0], beside: seen, &steps)
      let right = texts(of: node.children[1], beside: seen, &steps)
      guard left.count * right.count <= Self.mostSteps else { return [Text()] }
      return left.flatMap { left in right.map { Text(pattern: left.pattern + $0.pattern) } }
    case .name:
      guard let local = node.local, !seen.contains(local), let sources = sources[local] else { return [Text()] }
      return sources.flatMap { source in
        if case .expression(let given) = source {
          texts(of: given, beside: seen.union([local]), &steps)
        } else {
          [Text()]
        }
      }
    case .index:
      if let given = variables.member(node) { return texts(of: given, beside: seen, &steps) }
      if node.children[0].globalName == "plugin", node.children[1].stringValue == "name" {
        return [Text(pattern: declarations.plugin?.name ?? "*")]
      }
      return [Text()]
    default: return [Text()]
    }
  }

  // MARK: Where values come from

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
    case .numericFor: add(.fixed(.typed(.number)), to: node.children[0])
    case .genericFor:
      let variables = node.children[0].children, call = node.children[1].children[0]
      guard call.kind == .call, call.children[0].globalName == "ipairs", let list = call.arguments.first else { break }
      for (variable, source) in zip(variables, [.fixed(.typed(.number)), .element(list)] as [Source]) {
        add(source, to: variable)
      }
    case .call:
      findSources(ofHandler: node)
      if let rule = Declaration.rule(node) { findSources(ofRule: rule) }
      if node.children[0].local != nil, give(node.arguments.map(Source.expression), to: node.children[0]) {
        parts = parts.dropFirst()
      }
      if node.children[0].globalName == "migrate" {
        isInSteps = true
        for part in parts { findSources(in: part) }
        isInSteps = false
        return
      }
    case .function where !isInSteps:
      states += node.children[0].children.filter { $0.text == "state" }.compactMap(\.local)
    case .name where node.local != nil && !calledByHost.contains(node.range.lowerBound): give([], to: node)
    default: break
    }
    for part in parts { findSources(in: part) }
  }

  private mutating func add(_ source: Source, to target: SyntaxNode) {
    if let variable = target.local { sources[variable, default: []].append(source) }
  }

  /// Notes the arguments of a call for the parameters of a function; parameters without one may hold anything.
  ///
  /// Returns whether it is known which function that is.
  @discardableResult
  private mutating func give(_ arguments: [Source], to function: SyntaxNode) -> Bool {
    guard let body = variables.value(function, .function) else { return false }
    for (index, parameter) in body.children[0].children.enumerated() {
      add(index < arguments.count ? arguments[index] : .fixed(.unknown), to: parameter)
    }
    return true
  }

  // MARK: Rules and handlers

  private var state: Source {
    .fixed(declarations.plugin.map { .part(.init(root: .state($0.name))) } ?? .unknown)
  }

  private mutating func findSources(ofHandler node: SyntaxNode) {
    guard let (kind, handler, _) = Declaration.handler(node) else { return }
    var given = Self.given[kind].map { [Source.fixed(.typed($0))] } ?? [state]
    let name = node.children[0].arguments.first?.stringValue
    if kind == "query", let known = declarations.plugin?.queries.first(where: { $0.name == name })?.arguments {
      given.append(.fixed(.typed(.record(known.members.map { .init(name: $0.name, type: ValueType($0.type)) }))))
    }
    giveByHost(given, to: handler)
  }

  private mutating func giveByHost(_ arguments: [Source], to handler: SyntaxNode) {
    if give(arguments, to: handler) { calledByHost.insert(handler.range.lowerBound) }
  }

  private mutating func findSources(ofRule rule: [String: SyntaxNode]) {
    for handler in [rule["run"], rule["when"]].compactMap(\.self) {
      let given = [.fixed(.event(rule["on"].flatMap(Self.types))), state]
      giveByHost(given, to: handler)
    }
  }

  /// The types that a rule listens to; nil unless all of them are exact and stand in its text.
  private static func types(_ on: SyntaxNode) -> Set<String>? {
    let patterns = on.kind == .table ? on.children.map { $0.children.last?.stringValue } : [on.stringValue]
    let types = patterns.compactMap { $0 }
    guard types.count == patterns.count, !types.isEmpty, !types.contains(where: { $0.hasSuffix("*") }) else {
      return nil
    }
    return Set(types)
  }
}

extension Declarations.Part {
  /// The part that a variable holds which gets this in one place and `other` in another; nil if they are not alike.
  fileprivate func joined(_ other: Self) -> Self? {
    guard case .data(let left) = root, case .data(let right) = other.root, path == other.path else {
      return self == other ? self : nil
    }
    return Self(root: .data(left.union(right)), path: path)
  }
}
