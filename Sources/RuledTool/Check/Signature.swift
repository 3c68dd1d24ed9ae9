internal import RuledLua

struct Signature {
  let parameters: [String]
  /// The number of its required parameters.
  let needed: Int
  let takesMore: Bool
  /// How many values it returns at most; nil for any number.
  let results: Int?
  /// The types of the parameters, where they are declared, and that of the first result.
  let types: [ValueType]
  let result: ValueType

  /// The functions of the host, and those of Lua that fail without an argument.
  static let host = Dictionary(
    uniqueKeysWithValues: (RuleLibrary.functions + RuleLibrary.ofLua).map { ($0.name, Signature($0)) })

  private init(_ function: LibraryFunction) {
    parameters = function.parameters.map(\.name)
    types = function.parameters.map { ValueType($0.type) }
    result = function.results.first.map { ValueType($0.type) } ?? .any
    needed = (function.parameters.lastIndex { !$0.type.hasSuffix("?") } ?? -1) + 1
    takesMore = parameters.last == "..."
    results = function.results.contains { $0.type.hasSuffix("...") } ? nil : function.results.count
  }

  /// The signature of a function in Lua.
  ///
  /// A parameter is required if its use as nil would be an error, and if the function nowhere compares or replaces it.
  init(_ function: SyntaxNode, in text: [UInt8]) {
    let list = function.children[0]
    parameters = list.children.map(\.text)
    takesMore = String(decoding: text[list.range], as: UTF8.self).contains("...")
    (types, result) = ([], .any)
    results = function.returnsValue ? nil : 0
    var uses = Uses()
    uses.visit(function.children[1])
    needed = (list.children.lastIndex { $0.local.map(uses.isNeeded) ?? false } ?? -1) + 1
  }

  /// The problem of a call that gives `count` arguments, and perhaps more if it `isOpen`; nil if there is none.
  func problem(of name: String, count: Int, isOpen: Bool) -> String? {
    if count > parameters.count, !takesMore {
      let taken = parameters.isEmpty ? "no argument" : "\(parameters.count) (\(parameters.joined(separator: ", ")))"
      return "\(name) takes \(taken), and \(count) \(count == 1 ? "is" : "are") given here"
    }
    guard count < needed, !isOpen else { return nil }
    return "\(name) needs '\(parameters[needed - 1])', which is not given here: \(name)"
      + "(\(parameters.joined(separator: ", ")))"
  }

  private struct Uses {
    private var raising: Set<Int> = []
    private var tested: Set<Int> = []

    func isNeeded(_ local: Int) -> Bool { raising.contains(local) && !tested.contains(local) }

    mutating func visit(_ node: SyntaxNode) {
      switch node.kind {
      case .index: note([node.children[0]], isTest: false)
      case .call, .methodCall:
        note([node.children[0]], isTest: false)
        // The function that gets it may take nil.
        note(node.children[1].children, isTest: true)
      case .numericFor: note(node.children, isTest: false)
      case .unary: note(node.children, isTest: node.text == "not")
      case .binary: note(node.children, isTest: ["and", "or", "==", "~="].contains(node.text))
      case .ifStatement, .whileLoop, .repeatLoop, .localFunction, .function: note(node.children, isTest: true)
      case .assignment: note(node.children[0].children, isTest: true)
      default: break
      }
      for child in node.children { visit(child) }
    }

    private mutating func note(_ operands: [SyntaxNode], isTest: Bool) {
      for local in operands.compactMap(\.local) {
        if isTest { tested.insert(local) } else { raising.insert(local) }
      }
    }
  }
}
