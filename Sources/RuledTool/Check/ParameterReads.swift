internal import RuledLua

/// The members that the functions of a file read of the tables that they get, as far as its text tells all of them.
///
/// A value is a parameter, a member of one, or the elements of one. Parameters that are called `options` are one value: callers give one
/// table to several functions.
struct ParameterReads {
  /// A value, and what the file does with it.
  struct Value {
    fileprivate(set) var members: [String: Int] = [:]
    /// The members' names, in order.
    fileprivate(set) var names: [String] = []
    fileprivate(set) var elements: Int?
    /// Whether members of any name are read.
    fileprivate(set) var isMap = false
    /// Whether more may be done with it than the text tells.
    fileprivate(set) var isOpen = false
    /// The parameters that it becomes, of functions of the file and of modules.
    fileprivate(set) var parameters: [Int] = []
    fileprivate(set) var outer: [Parameter] = []
  }

  /// A parameter of a module's function, counted from 0 on.
  struct Parameter: Hashable {
    let module: String
    let function: String
    let index: Int
  }

  private(set) var values: [Value] = []
  /// The values of parameters, and of variables that hold one.
  private(set) var held: [Int: Int] = [:]
  private(set) var options: Int?
  private let variables: FileValues
  /// The functions of the table that the file returns, and the variable that holds this, if one does.
  private var own: [String: SyntaxNode] = [:]
  private var result: Int?

  init(_ variables: FileValues) { self.variables = variables }

  /// Reads the file of which these are the functions; `own` are those of the table that it returns, which may be in a variable.
  mutating func read(_ tree: SyntaxTree, own: [String: SyntaxNode], in result: Int?) {
    self.own = own
    self.result = result
    for (local, variable) in tree.locals.enumerated() where variable.isParameter {
      held[local] = variable.name == "options" ? options ?? add() : add()
      if variable.name == "options" { options = held[local] }
      if let value = held[local], variables.assigned.contains(local) { values[value].isOpen = true }
    }
    visit(tree.root)
    for index in values.indices { values[index].names = values[index].members.keys.sorted() }
  }

  private mutating func add() -> Int {
    values.append(Value())
    return values.count - 1
  }

  /// The value that an expression is; nil if it is none.
  private mutating func value(of node: SyntaxNode) -> Int? {
    switch node.kind {
    case .name: return node.local.flatMap { held[$0] }
    case .parenthesis: return value(of: node.children[0])
    case .binary where node.text == "or": return value(of: node.children[0])
    case .index:
      guard let outer = value(of: node.children[0]) else { return nil }
      guard let name = node.children[1].stringValue else {
        values[outer].isMap = true
        return elements(of: outer)
      }
      if let known = values[outer].members[name] { return known }
      let member = add()
      values[outer].members[name] = member
      return member
    default: return nil
    }
  }

  private mutating func elements(of value: Int) -> Int {
    if let known = values[value].elements { return known }
    let elements = add()
    values[value].elements = elements
    return elements
  }

  /// `isKept`: whether the value of the expression goes where the walk does not follow it.
  private mutating func visit(_ node: SyntaxNode, isKept: Bool = true) {
    if let value = value(of: node), isKept { values[value].isOpen = true }
    switch node.kind {
    case .unary: visit(node.children[0], isKept: false)
    case .binary:
      let left = node.children[0], right = node.children[1]
      visit(left, isKept: node.text == "or" && isKept)
      visit(right, isKept: ["and", "or"].contains(node.text) && isKept)
    case .index:
      visit(node.children[0], isKept: false)
      visit(node.children[1], isKept: false)
    case .methodCall: for child in node.children { visit(child) }
    case .call: visit(call: node)
    case .local:
      let targets = node.children[0].children
      for (index, source) in node.children[1].children.enumerated() {
        let local = index < targets.count ? targets[index].local : nil
        if let local, let value = value(of: source), !variables.assigned.contains(local) { held[local] = value }
        visit(source, isKept: local.flatMap { held[$0] } == nil)
      }
    case .genericFor:
      let variables = node.children[0].children, call = node.children[1].children[0]
      if let walk = call.kind == .call ? call.children[0].globalName : nil, ["ipairs", "pairs"].contains(walk),
        let list = call.arguments.first, let value = value(of: list)
      {
        if walk == "pairs" { values[value].isMap = true }
        if variables.count > 1, let local = variables[1].local { held[local] = elements(of: value) }
        visit(list, isKept: false)
      } else {
        visit(node.children[1])
      }
      visit(node.children[2])
    case .ifStatement, .whileLoop, .repeatLoop: for child in node.children { visit(child, isKept: false) }
    case .function: visit(node.children[1])
    default: for child in node.children { visit(child) }
    }
  }

  private mutating func visit(call node: SyntaxNode) {
    var function = node.children[0], arguments = node.arguments[...]
    visit(function, isKept: false)
    if function.globalName == "pcall", let called = arguments.popFirst() {
      visit(called, isKept: false)
      function = called
    }
    for (index, argument) in arguments.enumerated() {
      guard let value = value(of: argument) else {
        visit(argument)
        continue
      }
      visit(argument, isKept: false)
      let member = function.kind == .index ? function.children[1].stringValue : nil
      let isOwn = result != nil && function.kind == .index && function.children[0].local == result
      if let body = isOwn ? member.flatMap({ own[$0] }) : variables.value(function, .function) {
        let parameters = body.children[0].children
        let parameter = index < parameters.count ? parameters[index].local.flatMap { held[$0] } : nil
        if let parameter { values[value].parameters.append(parameter) } else { values[value].isOpen = true }
      } else if let member, let module = variables.module(of: function.children[0]) {
        values[value].outer.append(Parameter(module: module, function: member, index: index))
      } else if function.globalName != "type" {
        values[value].isOpen = true
      }
    }
  }
}
